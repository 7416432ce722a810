package balancer

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// listener is a port of a load balancer.
type listener struct {
	group atomic.Pointer[group]
	zone  string // of the targets; empty for all
	stop  context.CancelFunc
}

// listen forwards the connections of a socket until stop is called or ctx ends.
func listen(ctx context.Context, wg *sync.WaitGroup, socket *net.TCPListener, to *group, zone string) *listener {
	l := &listener{zone: zone}
	l.group.Store(to)
	ctx, l.stop = context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { _ = socket.Close() })
	wg.Go(func() {
		for {
			client, err := socket.AcceptTCP()
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				wg.Go(func() { l.forward(ctx, client) })
			}
		}
	})
	return l
}

// forward forwards one connection. Without a target it resets the connection of the client.
func (l *listener) forward(ctx context.Context, client *net.TCPConn) {
	target := l.group.Load().pick(l.zone)
	if target == nil {
		reset(client)
		return
	}
	together, release := target.hold()
	defer release()
	dialing, cancel := context.WithTimeout(together, patience)
	conn, err := target.dial(dialing, target.address)
	cancel()
	if err != nil {
		reset(client)
		return
	}
	server := conn.(*net.TCPConn)
	for _, end := range []context.Context{ctx, together} {
		defer context.AfterFunc(end, func() { reset(client, server) })()
	}
	pipe(client, server)
}
