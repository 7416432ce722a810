package profiling

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestProfilesAreServedOnLoopbackOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:6060", "localhost:0", "127.0.0.1", ""} {
		if at, err := Serve(address); err == nil {
			t.Errorf("%q is accepted, and served at %s", address, at)
		}
	}
	at, err := Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + at + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), "TestProfilesAreServedOnLoopbackOnly") {
		t.Errorf("%s, %v: %.200s", resp.Status, err, text)
	}
}
