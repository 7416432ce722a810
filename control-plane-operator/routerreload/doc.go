// Package routerreload runs beside HAProxy and tells its master process two things.
//
//	file ── differs from what the worker says it runs ──► reload: a new worker takes the sockets, the old one keeps its connections
//	kubelet, before it ends HAProxy: GET /drain ──► shutdown frontend ──► answers when the connections have ended, or time is up
//
// It looks at the file every other second: to be told of a change would take an
// inotify instance, of which a node with many control planes has too few. What
// does not load is not asked for again before it changes, or a minute later: HAProxy
// goes on with what it has.
package routerreload
