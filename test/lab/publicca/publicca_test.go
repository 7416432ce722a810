package publicca

import (
	"crypto/x509"
	"os"
	"sync"
	"testing"
)

func TestAllProcessesHaveTheSameCA(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	cas := make([]*CA, 8)
	for i := range cas {
		wg.Go(func() {
			var err error
			if cas[i], err = Open(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	trusted, err := os.ReadFile(cas[0].File)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	for i, ca := range cas {
		served, err := ca.Certificate("*.s3.us-east-1.amazonaws.com")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := served.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "bucket.s3.us-east-1.amazonaws.com"}); err != nil {
			t.Errorf("certificate of %d: %v", i, err)
		}
	}
}
