// Package profiling serves the profiles of a program on loopback, for `kubectl port-forward` and `go tool pprof`.
//
// A profile contains strings of the heap, among them Secrets. It is therefore served only to clients that can enter the network of the pod.
package profiling

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"
)

// Address is where the operators serve their profiles.
const Address = "127.0.0.1:6060"

// Serve serves profiles at an address of loopback until the process ends, and returns the address: port 0 selects a free port.
func Serve(address string) (string, error) {
	if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().IsLoopback() {
		return "", fmt.Errorf("%q is not an address of loopback: use %s", address, Address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("listening for clients of the profiles: %w", err)
	}
	server := &http.Server{Handler: handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // Serve fails only if the listener was closed, which no caller does
		}
	}()
	return listener.Addr().String(), nil
}

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
