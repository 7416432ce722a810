// Package routerreload operates the HAProxy of a router over the socket of its master process. It has two commands:
//
//	router-reload, beside HAProxy         the file differs from what the worker runs ──► reload: a new worker takes over the
//	                                      listening sockets, the old one keeps its connections
//	router-drain, preStop of HAProxy      disable frontend  ──► wait until the connections have ended, or the timeout has passed
//
// Neither listens on the network: whoever could ask for a drain would take the API of the cluster away. The socket is in a volume of the pod. HAProxy's image has no program for the hook, so router-reload
// puts a copy of this one into the same volume.
//
// The file is read every other second: a notification would take an inotify instance, of which a node with many control planes has
// too few. A configuration that HAProxy refuses is not loaded again before it changes, or a minute later; HAProxy continues with
// the one that it has.
package routerreload
