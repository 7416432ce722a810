package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestRouterShareIsThatOfTheMedians(t *testing.T) {
	a := apiLatency{Kinds: map[string]latencies{
		"get":  {{10, 12, 900}, {6, 8, 9}, {5, 7, 800}}, // medians 12, 8, 7
		"list": {{90, 88}, {50, 52}, {49, 51}},          // 90, 52, 51: of an even number, the higher one
	}}
	if got := a.routerShare(); math.Abs(got-100*(1+1)/(12+90.0)) > 1e-9 {
		t.Errorf("the share is %v", got)
	}
	if got := a.p99(); got != 900 {
		t.Errorf("the 99th percentile is %v", got)
	}
}

func TestEachRoundBeginsWithAnotherPath(t *testing.T) {
	all := [paths]*apiPath{{host: "0"}, {host: "1"}, {host: "2"}}
	order := ""
	l, err := measureKind(t.Context(), 3, all, func(p *apiPath, _ context.Context) error {
		order += p.host
		return nil
	})
	if err != nil || order != strings.Repeat("012120201", 2) {
		t.Errorf("%s, %v", order, err)
	}
	for i := range l {
		if len(l[i]) != 3 {
			t.Errorf("path %d has %d samples", i, len(l[i]))
		}
	}
	if _, err := measureKind(t.Context(), 3, all, func(p *apiPath, _ context.Context) error { return io.ErrUnexpectedEOF }); err == nil {
		t.Error("a request that fails is measured")
	}
}

// commandServer answers like the API server: the output of a command, and its status.
func commandServer(t *testing.T, output, status string) *apiPath {
	t.Helper()
	server := httptest.NewTLSServer(websocket.Server{Handshake: func(*websocket.Config, *http.Request) error { return nil }, Handler: func(conn *websocket.Conn) {
		for _, message := range []string{"\x01", "\x01" + output[:1], "\x02warning", "\x01" + output[1:], "\x03" + status} {
			if err := websocket.Message.Send(conn, []byte(message)); err != nil {
				t.Error(err)
			}
		}
	}})
	t.Cleanup(server.Close)
	return pathTo(t, server)
}

func pathTo(t *testing.T, server *httptest.Server) *apiPath {
	t.Helper()
	p, err := newAPIPath(&rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCommandMustSucceedWithItsWholeOutput(t *testing.T) {
	if err := commandServer(t, "12345", `{"status":"Success"}`).exec(t.Context(), 5, "echo"); err != nil {
		t.Error(err)
	}
	if err := commandServer(t, "1234", `{"status":"Success"}`).exec(t.Context(), 5, "echo"); err == nil {
		t.Error("a short output is accepted")
	}
	if err := commandServer(t, "12345", `{"status":"Failure"}`).exec(t.Context(), 5, "echo"); err == nil {
		t.Error("a command that fails is accepted")
	}
}

func TestAnswersMustHaveTheExpectedContent(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	defer server.Close()
	p := pathTo(t, server)
	if err := p.get(t.Context()); err != nil {
		t.Error(err)
	}
	if p.list(t.Context()) == nil || p.logs(t.Context()) == nil {
		t.Error("an empty list or log is accepted")
	}
}

// Every watch gets the event of every create; other events are not measured.
func TestEventsAreMeasuredOnAllPaths(t *testing.T) {
	var created [paths]chan string
	var all [paths]*apiPath
	for i := range all {
		created[i] = make(chan string, 1)
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			fmt.Fprintln(w, `{"type":"ADDED","object":{"metadata":{"name":"older"}}}`)
			for {
				if err := http.NewResponseController(w).Flush(); err != nil {
					return
				}
				select {
				case name := <-created[i]:
					fmt.Fprintf(w, `{"type":"ADDED","object":{"metadata":{"name":%q}}}`, name)
				case <-req.Context().Done():
					return
				}
			}
		}))
		t.Cleanup(server.Close)
		all[i] = pathTo(t, server)
	}
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			if _, ok := obj.(*corev1.ConfigMap); !ok {
				return fmt.Errorf("%T is created", obj)
			}
			for i := range created {
				created[i] <- obj.GetName()
			}
			return nil
		},
	})
	l, err := measureWatches(t.Context(), all, c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range l {
		if len(l[i]) != watchedEvents || slices.Min(l[i]) < 0 {
			t.Errorf("path %d has %d samples", i, len(l[i]))
		}
	}
}
