package waitfor

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/pki"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// server returns a server with a readiness that the test sets.
func server(t *testing.T) (s *httptest.Server, ready *atomic.Bool, caFile string) {
	t.Helper()
	ready = &atomic.Bool{}
	s = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	caFile = filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(caFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return s, ready, caFile
}

// kubeconfigOf returns a kubeconfig in the form that control planes have, for a user of that name.
func kubeconfigOf(t *testing.T, name string, s *httptest.Server) string {
	t.Helper()
	authority, err := pki.NewAuthority("clients", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Issue(pki.Request{User: name, Usage: pki.Client}, pki.DefaultTerms, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, err := pki.Kubeconfig(s.URL, pki.Bundle(s.Certificate()), leaf)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCheckSucceedsOnceTheServerIsReady(t *testing.T) {
	s, ready, caFile := server(t)
	for name, args := range map[string][]string{
		"the API server of a kubeconfig": {"--kubeconfig=" + kubeconfigOf(t, "somebody", s)},
		"a URL":                          {"--url=" + s.URL + "/readyz", "--ca-file=" + caFile},
	} {
		w, err := Parse(args)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ready.Store(false)
		if err := w.check(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("%s that is not ready: %v", name, err)
		}
		ready.Store(true)
		if err := w.Run(t.Context()); err != nil {
			t.Errorf("%s that is ready: %v", name, err)
		}
	}
}

func TestCheckAuthenticatesWithTheKubeconfig(t *testing.T) {
	var asking string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asking = r.TLS.PeerCertificates[0].Subject.CommonName
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	defer s.Close()
	w, err := Parse([]string{"--kubeconfig=" + kubeconfigOf(t, "system:kube-scheduler", s)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.check(t.Context()); err != nil || asking != "system:kube-scheduler" {
		t.Errorf("asked as %q: %v", asking, err)
	}
}

func TestInvalidKubeconfigsAreRefused(t *testing.T) {
	s, _, _ := server(t)
	good, err := os.ReadFile(kubeconfigOf(t, "somebody", s))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing":                       "",
		"a text":                        "secret",
		"one without a current context": strings.Replace(string(good), "current-context: cluster", "", 1),
		"one without its user":          strings.Replace(string(good), "user: somebody", "user: nobody", 1),
		"one without a key":             strings.Replace(string(good), "client-key-data", "client-key", 1),
		"one without an authority":      strings.Replace(string(good), "certificate-authority-data: ", "certificate-authority-data: ZWFzeQ== #", 1),
	} {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse([]string{"--kubeconfig=" + file}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTCPCheckWaitsForAListener(t *testing.T) {
	s, _, _ := server(t)
	w, err := Parse([]string{"--url=tcp://" + s.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.check(t.Context()); err != nil {
		t.Errorf("somebody listens: %v", err)
	}
	s.Close()
	if err := w.check(t.Context()); err == nil {
		t.Error("nobody listens")
	}
}

func TestServerWithUnknownCAIsNotTrusted(t *testing.T) {
	s, ready, _ := server(t)
	ready.Store(true)
	w, err := Parse([]string{"--url=" + s.URL + "/readyz"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.check(t.Context()); err == nil {
		t.Error("an unknown authority was believed")
	}
}

func TestRunRepeatsTheCheckUntilItSucceeds(t *testing.T) {
	clock := testingclock.NewFakeClock(start)
	asked := make(chan struct{})
	answers := []error{errors.New("no"), errors.New("not yet"), nil}
	w := &Waiter{Clock: clock, Check: func(context.Context) error {
		asked <- struct{}{}
		answer := answers[0]
		answers = answers[1:]
		return answer
	}}
	done := make(chan error)
	go func() { done <- w.Run(t.Context()) }()
	for range 2 {
		<-asked
		for !clock.HasWaiters() {
			runtime.Gosched()
		}
		clock.Step(maxInterval)
	}
	<-asked
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRunReturnsTheLastErrorWhenStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	w := &Waiter{Clock: testingclock.NewFakeClock(start), Check: func(context.Context) error { stop(); return errors.New("not ready") }}
	if err := w.Run(ctx); err == nil || err.Error() != "not ready" {
		t.Errorf("got %v", err)
	}
}

func TestInvalidArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--url=http://example.com"}, {"--kubeconfig=/nowhere"}, {"--url=https://example.com", "--ca-file=/nowhere"}, {"--sleep=3"},
	} {
		if _, err := Parse(args); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

// The API server's pod has nothing to wait for if its etcd is the user's.
func TestCopyOfTheProgramNeedsNoServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidecar")
	w, err := Parse([]string{"--install=" + path})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Stat(path); err != nil || f.Mode().Perm() != 0o755 {
		t.Errorf("the copy is %v, %v", f, err)
	}
	w.Install = filepath.Join(path, "not-a-directory")
	if err := w.Run(t.Context()); err == nil {
		t.Error("a failed copy is not reported")
	}
}
