package balancer

import (
	"io"
	"net"
	"sync"
)

// pipe carries bytes both ways until both sides have said all they had to say, or one of them is gone. Between TCP connections
// the kernel does it, without a copy.
func pipe(a, b *net.TCPConn) {
	var both sync.WaitGroup
	carry := func(to, from *net.TCPConn) {
		if _, err := io.Copy(to, from); err != nil {
			reset(to, from)
			return
		}
		_ = to.CloseWrite() // the other direction goes on; if it cannot, that is seen there
	}
	both.Go(func() { carry(a, b) })
	both.Go(func() { carry(b, a) })
	both.Wait()
	_ = a.Close()
	_ = b.Close()
}

// reset breaks connections, so that whoever holds the other end learns at once that nobody is there any more.
func reset(connections ...*net.TCPConn) {
	for _, c := range connections {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}
