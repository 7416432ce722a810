package balancer

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/hosted-control-planes/hypershift/test/fixture/proxyprotocol"
)

// listener is a port of a load balancer.
type listener struct {
	group atomic.Pointer[group]
	from  entrance
	stop  context.CancelFunc
}

// listen forwards the connections of a socket until stop is called or ctx ends.
func listen(ctx context.Context, wg *sync.WaitGroup, socket *net.TCPListener, to *group, from entrance) *listener {
	l := &listener{from: from}
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

// entrance is where clients of a listener come in.
type entrance struct {
	zone string // of the targets; empty for all
	// vpc is the VPC in which clients are instances and pods with their own addresses; empty for an entrance of other networks.
	vpc string
	// endpoint is the id of the VPC endpoint of clients, or empty.
	endpoint string
	// allows reports whether a client passes the security groups; nil for all.
	allows func(client netip.Addr) bool
}

// forward forwards one connection. Without a target it resets the connection of the client.
func (l *listener) forward(ctx context.Context, client *net.TCPConn) {
	address := client.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	if l.from.allows != nil && !l.from.allows(address) {
		l.ignore(ctx, client)
		return
	}
	g := l.group.Load()
	target := g.pick(l.from.zone)
	if target == nil {
		reset(client)
		return
	}
	if g.loops(l.from.vpc, address, target) {
		l.ignore(ctx, client)
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
	if g.announces() {
		header := proxyprotocol.Header(client.RemoteAddr().(*net.TCPAddr).AddrPort(), client.LocalAddr().(*net.TCPAddr).AddrPort(), l.from.endpoint)
		if _, err := server.Write(header); err != nil {
			reset(client, server)
			return
		}
	}
	for _, end := range []context.Context{ctx, together} {
		defer context.AfterFunc(end, func() { reset(client, server) })()
	}
	pipe(client, server, g.o.IdleTimeout)
}

// ignore does not answer until the client gives up: AWS drops the packets.
func (l *listener) ignore(ctx context.Context, client *net.TCPConn) {
	defer context.AfterFunc(ctx, func() { reset(client) })()
	_, _ = io.Copy(io.Discard, client) // the client ends it
	_ = client.Close()
}
