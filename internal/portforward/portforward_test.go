package portforward

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	"k8s.io/client-go/rest"
)

const token = "token-of-the-user"

// apiServer is an API server with a pod that echoes. Its pod "broken" reports an error.
func apiServer(t *testing.T) *rest.Config {
	t.Helper()
	upgrade := websocket.Server{
		Handshake: func(c *websocket.Config, r *http.Request) error {
			if len(c.Protocol) != 1 || c.Protocol[0] != "v4.channel.k8s.io" {
				return fmt.Errorf("protocols %v", c.Protocol)
			}
			return nil
		},
		Handler: func(ws *websocket.Conn) {
			ws.PayloadType = websocket.BinaryFrame
			for channel := range byte(2) {
				_ = websocket.Message.Send(ws, []byte{channel, 0x2b, 0x19})
			}
			if strings.Contains(ws.Request().URL.Path, "/broken/") {
				_ = websocket.Message.Send(ws, append([]byte{1}, "connection refused"...))
				return
			}
			for {
				var message []byte
				if err := websocket.Message.Receive(ws, &message); err != nil {
					return
				}
				_ = websocket.Message.Send(ws, message)
			}
		},
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, `pods "x" is forbidden`, http.StatusForbidden)
		case r.URL.Query().Get("ports") != "6443" || !strings.HasPrefix(r.URL.Path, "/prefix/api/v1/namespaces/ns/pods/") || !strings.HasSuffix(r.URL.Path, "/portforward"):
			http.Error(w, "no such path "+r.URL.String(), http.StatusNotFound)
		default:
			upgrade.ServeHTTP(w, r)
		}
	}))
	server.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL + "/prefix", BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

func TestDataPassesInBothDirections(t *testing.T) {
	config := apiServer(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- Serve(ctx, listener, func(ctx context.Context) (net.Conn, error) {
			return Dial(ctx, config, Pod{Namespace: "ns", Name: "echo", Port: 6443})
		}, func(err error) { t.Error(err) })
	}()
	var clients sync.WaitGroup
	for i := range 5 {
		clients.Go(func() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			sent := bytes.Repeat([]byte{byte(i), 'x'}, 200_000)
			go func() { _, _ = conn.Write(sent) }()
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	clients.Wait()
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Serve has not ended")
	}
}

func TestErrorsNameTheCause(t *testing.T) {
	config := apiServer(t)
	broken, err := Dial(t.Context(), config, Pod{Namespace: "ns", Name: "broken", Port: 6443})
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	if _, err := broken.Read(make([]byte, 10)); err == nil || err.Error() != "connection refused" {
		t.Errorf("the error of the runtime is %v", err)
	}
	if _, err := Dial(t.Context(), config, Pod{Namespace: "ns", Name: "echo", Port: 1}); err == nil || !strings.Contains(err.Error(), "no such path") {
		t.Errorf("a pod that is not found: %v", err)
	}
	other := rest.CopyConfig(config)
	other.BearerToken = "wrong"
	if _, err := Dial(t.Context(), other, Pod{Namespace: "ns", Name: "echo", Port: 6443}); err == nil || !strings.Contains(err.Error(), "pods/portforward") {
		t.Errorf("a user without permission: %v", err)
	}
	other.CAData, other.Host = nil, config.Host
	if _, err := Dial(t.Context(), other, Pod{Namespace: "ns", Name: "echo", Port: 6443}); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("a server whose certificate is not trusted: %v", err)
	}
}
