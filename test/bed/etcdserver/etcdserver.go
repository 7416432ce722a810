// Package etcdserver runs members of an etcd on loopback, without TLS: for what
// is about etcd itself, and not about who may talk to it.
package etcdserver

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

// A Server is a member that runs, once it is started.
type Server struct {
	Name string
	// Data is where it keeps its data.
	Data string
	// ClientURL and PeerURL are where it is found.
	ClientURL, PeerURL string

	t       testing.TB
	probes  string
	process *process.Process
}

// New returns a member that is known to others before it runs.
func New(t testing.TB, name string) *Server {
	t.Helper()
	return &Server{t: t, Name: name, Data: filepath.Join(t.TempDir(), name), ClientURL: address(t), PeerURL: address(t), probes: address(t)}
}

func address(t testing.TB) string {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// Alone runs a member that is all of its cluster, and waits until it is ready.
func (s *Server) Alone() {
	s.t.Helper()
	s.Start(s.Name+"="+s.PeerURL, "new")
	s.Ready()
}

// Start runs the member of the cluster initial, which is new or existing, with more flags if there are any.
func (s *Server) Start(initial, state string, flags ...string) {
	s.t.Helper()
	programs, err := pinned.Ensure(s.t.Context(), os.Stderr, "etcd")
	if err != nil {
		s.t.Fatal(err)
	}
	s.process, err = process.Start(process.Spec{Name: s.Name, Path: programs["etcd"], Log: s.Data + ".log", Args: append([]string{
		"--name=" + s.Name, "--data-dir=" + s.Data, "--initial-cluster=" + initial, "--initial-cluster-state=" + state,
		"--listen-peer-urls=" + s.PeerURL, "--initial-advertise-peer-urls=" + s.PeerURL,
		"--listen-client-urls=" + s.ClientURL, "--advertise-client-urls=" + s.ClientURL, "--listen-metrics-urls=" + s.probes,
	}, flags...)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.process.Kill)
}

// Ready waits until the member is part of a majority.
func (s *Server) Ready() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if err := s.process.Ready(ctx, http.DefaultClient, s.probes+"/readyz"); err != nil {
		s.t.Fatal(err)
	}
}

// LastWords waits until the member has ended by itself, and is what it said last.
func (s *Server) LastWords() string {
	s.t.Helper()
	select {
	case <-s.process.Done():
	case <-time.After(time.Minute):
		s.t.Fatalf("%s goes on", s.Name)
	}
	return process.Tail(s.Data+".log", 1)
}

// Kill ends the member the way a crash does.
func (s *Server) Kill() { s.process.Kill() }

// Connect returns a client of the members.
func Connect(t testing.TB, members ...*Server) *clientv3.Client {
	t.Helper()
	var urls []string
	for _, m := range members {
		urls = append(urls, m.ClientURL)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: urls, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // its server may be gone
	return c
}
