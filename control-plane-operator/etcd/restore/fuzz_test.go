package restore

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// signature is a part of a presigned URL that grants access to the snapshot.
const signature = "X-Amz-Signature=0123456789abcdef"

type noServer struct{ hosts []string }

func (s *noServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.hosts = append(s.hosts, r.URL.Hostname())
	return nil, errors.New("refused")
}

// The signature of a URL is in no error, whatever is wrong with the URL. A snapshot is fetched by TLS, and from S3 if the URL is s3://.
func FuzzSource(f *testing.F) {
	for _, text := range []string{
		"https://example.com/a.db", "s3://bucket/key", "s3://bucket:99/key", "s3://user:password@bucket/key", "http://example.com/a", "https://[::1]:8443/a", "s3:bucket",
		"s3://[::1]/key", "https://example.com/%zz", "https://exa mple.com/", "https://example.com:port/a", "s3://b/%0a", "https:///a", "s3://bucket.s3.eu-west-1.amazonaws.com/k",
	} {
		f.Add(text, "")
		f.Add(text, "sha256="+checksum)
	}
	f.Fuzz(func(t *testing.T, text, fragment string) {
		if strings.Contains(text, "#") {
			return // what follows would not be the query
		}
		server, dir := &noServer{}, t.TempDir()
		fetcher := &Fetcher{
			URL: text + "?" + signature + "#" + fragment, Data: filepath.Join(dir, "data"), Restored: filepath.Join(dir, "restored"), File: filepath.Join(dir, "snapshot.db"),
			MaxBytes: 1 << 20, Unpacker: "/dev/null", Client: &http.Client{Transport: server}, Clock: clock.RealClock{},
		}
		err := fetcher.Run(t.Context())
		if err == nil || !strings.Contains(fragment, signature) && !strings.Contains(text, signature) && strings.Contains(err.Error(), signature) {
			t.Errorf("got %v", err)
		}
		for _, host := range server.hosts {
			if strings.HasPrefix(strings.ToLower(text), "s3:") && !strings.HasSuffix(host, ".s3.amazonaws.com") {
				t.Errorf("the snapshot is fetched from %s", host)
			}
		}
		if s, err := parse(fetcher.URL); err == nil && (s.url.Scheme != "https" || s.checksum != "" && len(s.checksum) != 64 || s.url.Fragment != "") {
			t.Errorf("the source is %+v", s)
		}
	})
}
