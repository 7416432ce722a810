// Package router runs HAProxy, which leads everybody who comes to the load
// balancers "router" and "private-router" to the server that he names.
//
//	Route ─► host in the ClientHello ─► Service of the control plane, TLS and all
//
// It opens nothing: certificates stay with the servers. Which Routes are its own
// says a label, and there is a router as long as there is such a Route.
//
// A change of Routes must not cost a connection: watches and the tunnels of the
// nodes last for days. So the configuration does not roll the pods:
//
//	ConfigMap router ── kubelet ──► file ── router-reload, beside HAProxy ──► master process
//	                                                                             │ starts a worker, hands it the sockets
//	                                                          new connections ──►│ new worker
//	                                                          old ones stay ────►│ old worker, until they end, or hard-stop-after
//
// A kubelet looks at ConfigMaps once in a minute; the controller nudge lets it
// look at once. A pod that ends is drained first, by its own preStop hook, see package routerreload.
package router
