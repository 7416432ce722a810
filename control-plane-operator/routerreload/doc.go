// Package routerreload operates the HAProxy of a router over the socket of its master process. It provides two commands:
//
//	router-reload, sidecar of HAProxy      the file differs from what the worker runs ──► reload: a new worker takes over the
//	                                      listening sockets, the old one keeps its connections
//	                                      a file *.map differs ──► its content is replaced in the worker
//	router-drain, preStop of HAProxy      disable frontend  ──► wait until the connections have ended, or the timeout has passed
//
// Neither command listens on the network. A client that could start a drain would make the cluster's API unavailable.
// The socket is in a volume of the pod. HAProxy's image has no program for the hook, so router-reload copies its own
// binary into the same volume.
//
// The file is polled every other second. inotify would need an instance per pod, and a node with many control planes has
// too few. A configuration that HAProxy rejects is loaded again after it changes, or after a minute. HAProxy continues
// with the previous configuration.
package routerreload
