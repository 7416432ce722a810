package wait

import (
	"context"
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

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	testingclock "k8s.io/utils/clock/testing"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// server is one that gets ready when it is told to.
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

func kubeconfig(t *testing.T, s *httptest.Server, caFile string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: s.URL, CertificateAuthority: caFile}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c"}},
		CurrentContext: "c",
	}
	if err := clientcmd.WriteToFile(config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWhatIsAsked(t *testing.T) {
	s, ready, caFile := server(t)
	for name, args := range map[string][]string{
		"the API server of a kubeconfig": {"--kubeconfig=" + kubeconfig(t, s, caFile)},
		"a URL":                          {"--url=" + s.URL + "/readyz", "--ca-file=" + caFile},
	} {
		w, err := Parse(args)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ready.Store(false)
		if err := w.ask(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("%s that is not ready: %v", name, err)
		}
		ready.Store(true)
		if err := w.Run(t.Context()); err != nil {
			t.Errorf("%s that is ready: %v", name, err)
		}
	}
}

func TestAPort(t *testing.T) {
	s, _, _ := server(t)
	w, err := Parse([]string{"--url=tcp://" + s.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.ask(t.Context()); err != nil {
		t.Errorf("somebody listens: %v", err)
	}
	s.Close()
	if err := w.ask(t.Context()); err == nil {
		t.Error("nobody listens")
	}
}

func TestAStrangerIsNotBelieved(t *testing.T) {
	s, ready, _ := server(t)
	ready.Store(true)
	w, err := Parse([]string{"--url=" + s.URL + "/readyz"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.ask(t.Context()); err == nil {
		t.Error("an unknown authority was believed")
	}
}

func TestItAsksUntilItIsToldYes(t *testing.T) {
	clock := testingclock.NewFakeClock(start)
	asked := make(chan struct{})
	answers := []error{errors.New("no"), errors.New("not yet"), nil}
	w := &Waiter{Clock: clock, Ask: func(context.Context) error {
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
		clock.Step(longest)
	}
	<-asked
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOneWhoIsStoppedSaysWhatStoodInTheWay(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	w := &Waiter{Clock: testingclock.NewFakeClock(start), Ask: func(context.Context) error { stop(); return errors.New("not ready") }}
	if err := w.Run(ctx); err == nil || err.Error() != "not ready" {
		t.Errorf("got %v", err)
	}
}

func TestArgumentsThatCannotBe(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--url=http://example.com"}, {"--kubeconfig=/nowhere"}, {"--url=https://example.com", "--ca-file=/nowhere"}, {"--sleep=3"},
	} {
		if _, err := Parse(args); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
