// Package systemd implements the part of systemd that a node needs to start from the user data of node pools: services, and the
// sockets, paths and timers that start services.
//
//	unit.go       files and drop-ins ─► sections
//	directives.go supported directives; others are an error, because a real node would behave differently
//	service.go    processes of a service: those before the main one, the main one, restarts
//	socket.go     listens, and passes the listening socket to its service at the first connection
//	path.go       waits for a file
//	timer.go      waits for a time, periodically
//	manager.go    starts the enabled units in the order of their dependencies
package systemd
