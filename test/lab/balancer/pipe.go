package balancer

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pipe copies bytes in both directions until both sides have closed their half, one connection fails, or no packet has arrived from
// either side for the idle timeout. Between TCP connections the kernel splices the bytes without copying them.
func pipe(a, b *net.TCPConn, idle time.Duration) {
	// Probes of the lab would keep a connection alive without keep-alive of its ends.
	_, _ = a.SetKeepAlive(false), b.SetKeepAlive(false) // they fail on a closed connection
	ctx, cancel := context.WithCancel(context.Background())
	var both, watching sync.WaitGroup
	watching.Go(func() { forgetIdle(ctx, idle, a, b) })
	carry := func(to, from *net.TCPConn) {
		if _, err := io.Copy(to, from); err != nil {
			reset(to, from)
			return
		}
		_ = to.CloseWrite() // the other direction continues; it detects a failure itself
	}
	both.Go(func() { carry(a, b) })
	both.Go(func() { carry(b, a) })
	both.Wait()
	cancel()
	watching.Wait()
	_ = a.Close()
	_ = b.Close()
}

// reset resets connections, so that the peers notice the failure at once.
func reset(connections ...*net.TCPConn) {
	for _, c := range connections {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}

// forgetIdle forgets connections on which no packet has arrived for the idle timeout. Keep-alive probes are packets.
func forgetIdle(ctx context.Context, idle time.Duration, connections ...*net.TCPConn) {
	ticks := time.NewTicker(max(idle/35, time.Millisecond))
	defer ticks.Stop()
	last, since := received(connections), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		now := received(connections)
		if now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) >= idle {
			forget(connections)
			return
		}
	}
}

// received is the number of packets that have arrived on the connections.
func received(connections []*net.TCPConn) (packets uint32) {
	for _, c := range connections {
		control(c, func(fd int) {
			if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
				packets += info.Segs_in
			}
		})
	}
	return packets
}

// forget closes connections without a packet to their peers. The kernel answers later packets with RST, as a load balancer of AWS
// does. Only root can do so; for others it resets the connections.
func forget(connections []*net.TCPConn) {
	for _, c := range connections {
		control(c, func(fd int) {
			if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, 1) != nil {
				_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
			}
		})
	}
	for _, c := range connections {
		_ = c.Close()
	}
}

func control(c *net.TCPConn, f func(fd int)) {
	raw, err := c.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) }) // it fails on a closed connection
	}
}
