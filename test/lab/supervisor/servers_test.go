package supervisor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

func TestStoppedServersStayStopped(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	health := httptest.NewServer(http.NotFoundHandler())
	health.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	t.Cleanup(health.Close)
	s := &servers{dir: dir}
	t.Cleanup(func() { s.stop("") })
	for _, name := range []string{"etcd", "second-etcd", "second-kube-apiserver"} {
		// Each start of a program leaves a line.
		script := "echo >>" + filepath.Join(dir, name) + "; exec sleep 100"
		if err := s.start(t.Context(), health.URL, process.Spec{Name: name, Path: "/bin/sh", Args: []string{"-c", script}}); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				break // its line is written
			}
		}
	}
	s.stop("second-")
	if got := s.status(); len(got) != 1 || got[0].Name != "etcd" || !got[0].Running {
		t.Errorf("the servers are %+v, want only etcd, running", got)
	}
	time.Sleep(1500 * time.Millisecond) // a server that ends is started again after one second
	for _, name := range []string{"second-etcd", "second-kube-apiserver"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(text) > 1 {
			t.Errorf("%s was started again: %q, %v", name, text, err)
		}
	}
}
