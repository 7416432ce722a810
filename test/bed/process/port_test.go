package process

import (
	"net"
	"strconv"
	"testing"
)

// A container's ports are looked for one after the other, and nobody listens on
// the first while the second is looked for.
func TestNoPortIsGivenTwice(t *testing.T) {
	given := map[int]bool{}
	for range 500 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if given[port] {
			t.Fatalf("port %d was given twice", port)
		}
		given[port] = true
	}
}

func TestAPortThatSomebodyListensOnIsNotGiven(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1)))
	if err != nil {
		t.Skipf("port %d is not ours to take: %v", port+1, err)
	}
	defer taken.Close()
	next, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if next == port+1 {
		t.Fatalf("port %d was given, and somebody listens on it", next)
	}
}
