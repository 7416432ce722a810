package hostedapi

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// The checks of a response have the names in it, and a failed check is never missing.
func FuzzChecks(f *testing.F) {
	for _, body := range []string{"[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed", "[+]\n[-]", "[-]a\r\n[+]a ok", "[+][-]b", "", "\xff[-]x", "[-] etcd"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		found := checks(body)
		failed := 0
		for name, well := range found {
			if strings.ContainsAny(name, "\r\n ") {
				t.Errorf("a check has the name %q", name)
			}
			if !well {
				failed++
			}
		}
		if text := "\n" + string(body); strings.Count(text, "\n[+]") == 0 && (failed > 0) != strings.Contains(text, "\n[-]") {
			t.Errorf("%d checks fail in %q", failed, body)
		}
		k := &kubeconfig{secret: "admin", server: &url.URL{Host: "api.example.com"}}
		if p := k.evaluate(500, found); p == nil || utf8.Valid(body) && !utf8.ValidString(p.message) {
			t.Errorf("the problem is %+v", p)
		}
	})
}
