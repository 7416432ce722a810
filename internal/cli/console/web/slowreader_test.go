package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// oneConnection is a listener that accepts one connection.
type oneConnection struct {
	net.Conn
	accepted chan net.Conn
	closing  sync.Once
}

func (l *oneConnection) Accept() (net.Conn, error) {
	if c, open := <-l.accepted; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *oneConnection) Close() error { l.closing.Do(func() { close(l.accepted) }); return nil }

func (l *oneConnection) Addr() net.Addr { return l.LocalAddr() }

// A browser that sends a request and reads no response must not keep a handler, and its memory, for ever.
func TestBrowserThatReadsNothingLosesItsConnection(t *testing.T) {
	text := strings.Repeat("x", 1<<16)
	for name, test := range map[string]struct {
		write func(w http.ResponseWriter) error
		after time.Duration
	}{
		"page": {func(w http.ResponseWriter) error { _, err := w.Write([]byte(text)); return err }, responseTimeout},
		"live": {func(w http.ResponseWriter) error {
			return stream{w, http.NewResponseController(w), clock.RealClock{}}.send("row", text)
		}, writeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				browser, server := net.Pipe()
				defer browser.Close()
				listener := &oneConnection{Conn: server, accepted: make(chan net.Conn, 1)}
				listener.accepted <- server
				took := make(chan time.Duration, 1)
				handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					began := time.Now()
					for test.write(w) == nil {
					}
					took <- time.Since(began)
				})
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- Listen(ctx, listener, handler) }()
				if _, err := fmt.Fprint(browser, "GET / HTTP/1.1\r\nHost: console\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				if got := <-took; got != test.after {
					t.Errorf("the handler ended after %s, want %s", got, test.after)
				}
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
