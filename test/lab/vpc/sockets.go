package vpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// inside calls a function on a thread in a network namespace. Sockets that it opens, and programs that it starts, stay there.
// The thread returns: if it ended, the kernel would end the programs that other goroutines have started on it.
func inside(ns netns.NsHandle, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		here, err := netns.Get()
		if err == nil {
			err = netns.Set(ns)
		}
		if err != nil {
			done <- fmt.Errorf("entering a network namespace: %w", err)
			return // the thread ends
		}
		err = f()
		if netns.Set(here) == nil {
			runtime.UnlockOSThread()
		}
		_ = here.Close() // no write can be lost
		done <- err
	}()
	return <-done
}

// inside calls a function on a thread in the namespace of the router. Each thread of this process is in the management VPC's namespace.
func (r *Router) inside(f func() error) error {
	if r.management {
		return f()
	}
	return inside(r.namespace, f)
}

// Listen listens on an address of the VPC's router.
func (r *Router) Listen(at netip.AddrPort) (l *net.TCPListener, err error) {
	err = r.inside(func() error {
		l, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		return err
	})
	return l, err
}

// limitSegments makes both ends of connections of a listener send packets of at most so many bytes.
func limitSegments(l *net.TCPListener, mtu int) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	const headers = 40 // of IPv4 and TCP
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, mtu-headers) })
	return errors.Join(err, failed)
}

// ListenPacket listens for datagrams on an address of the VPC's router.
func (r *Router) ListenPacket(at netip.AddrPort) (c net.PacketConn, err error) {
	err = r.inside(func() error {
		c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
		return err
	})
	return c, err
}

// DialContext connects from an address of the router to one in the VPC.
func (r *Router) DialContext(ctx context.Context, from netip.Addr, to netip.AddrPort) (c net.Conn, err error) {
	err = r.inside(func() error {
		dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
		c, err = dialer.DialContext(ctx, "tcp4", to.String())
		return err
	})
	return c, err
}
