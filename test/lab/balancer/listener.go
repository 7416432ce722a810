package balancer

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// listener is a port of a load balancer.
type listener struct {
	group atomic.Pointer[group]
	stop  context.CancelFunc
}

// listen opens a port, and forwards until stop is called or ctx ends.
func listen(ctx context.Context, wg *sync.WaitGroup, at netip.AddrPort, to *group) (*listener, error) {
	socket, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return nil, fmt.Errorf("opening a port of a load balancer: %w", err)
	}
	l := &listener{}
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
	return l, nil
}

// forward forwards one connection. Without a target it resets the connection of the client.
func (l *listener) forward(ctx context.Context, client *net.TCPConn) {
	target := l.group.Load().pick()
	if target == nil {
		reset(client)
		return
	}
	together, release := target.hold()
	defer release()
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(together, "tcp", target.address.String())
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
