// Package router runs HAProxy, which routes connections of the load balancers "router" and "private-router" to the
// server in the TLS server name.
//
//	Route ─► host in the ClientHello ─► Service of the control plane; the TLS connection is passed through
//
// HAProxy does not terminate TLS: certificates stay with the servers. Only while the API server sleeps, HAProxy has its certificate, to answer in
// its place (asleep.go). A label selects the Routes of the router, and the
// router exists as long as there is such a Route.
//
// A change of Routes must not interrupt connections, because watches and the tunnels of the nodes last for days. So the
// configuration does not roll the pods:
//
//	ConfigMap router ── kubelet ──► file ── router-reload (sidecar) ───────► master process
//	                                                                             │ starts a worker, passes the sockets to it
//	                                                          new connections ──►│ new worker
//	                                                          old ones stay ────►│ old worker, until they end, or hard-stop-after
//
// A kubelet syncs ConfigMaps once a minute. The controller routerconfig makes it sync at once. The pod's preStop hook
// drains the connections, see package routerreload.
package router
