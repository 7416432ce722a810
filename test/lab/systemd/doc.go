// Package systemd is as much of systemd as a node needs that starts from the user data of node pools: services, and the sockets,
// paths and timers that start services.
//
//	unit.go       files and drop-ins ─► sections
//	directives.go what of it is understood; anything else is an error, because a node would do what is not done here
//	service.go    its processes: before, the main one, again when it has ended
//	socket.go     listens, and hands what it listens on to its service with the first connection
//	path.go       waits for a file
//	timer.go      waits for a time, again and again
//	manager.go    what is enabled starts, each after those that it says
package systemd
