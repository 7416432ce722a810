package balancer

import (
	"io"
	"net"
	"sync"
)

// pipe copies bytes in both directions until both sides have closed their half, or one connection fails. Between TCP
// connections the kernel splices the bytes without copying them.
func pipe(a, b *net.TCPConn) {
	var both sync.WaitGroup
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
