package webhookcertificate

import (
	"crypto/tls"
	"path/filepath"
	"testing"
)

func TestAServerCanUseTheCertificate(t *testing.T) {
	dir := t.TempDir()
	w, err := Parse([]string{"--dir=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // A container may be started again.
		if err := w.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")); err != nil {
			t.Error(err)
		}
	}
}
