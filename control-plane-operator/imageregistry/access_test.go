package imageregistry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func TestAccessesOfRequests(t *testing.T) {
	const unknown = "unknown"
	for line, want := range map[string]string{
		"GET /v2/":                           "[]",
		"GET /v2":                            "[]",
		"GET /v2/_catalog":                   "[{list  }]",
		"GET /v2/_catalog?n=100":             "[{list  }]",
		"GET /v2/shop/web/manifests/latest":  "[{get shop web}]",
		"HEAD /v2/shop/web/manifests/latest": "[{get shop web}]",
		"GET /v2/shop/web/manifests/latest?ns=example.com":         "[{get shop web}]",
		"GET /v2/shop/team/web/blobs/sha256:abc":                   "[{get shop team/web}]",
		"GET /v2/shop/web/tags/list":                               "[{get shop web}]",
		"GET /v2/shop/web/referrers/sha256:abc":                    "[{get shop web}]",
		"PUT /v2/shop/web/manifests/latest":                        "[{update shop web}]",
		"POST /v2/shop/web/blobs/uploads/":                         "[{update shop web}]",
		"PATCH /v2/shop/web/blobs/uploads/1-2?_state=x":            "[{update shop web}]",
		"GET /v2/shop/web/blobs/uploads/1-2":                       "[{update shop web}]",
		"DELETE /v2/shop/web/blobs/uploads/1-2":                    "[{update shop web}]",
		"DELETE /v2/shop/web/manifests/sha256:abc":                 "[{delete shop web}]",
		"POST /v2/shop/web/blobs/uploads/?mount=a&from=other/x":    "[{update shop web} {get other x}]",
		"POST /v2/shop/web/blobs/uploads/?from=a/b&from=other/x/y": "[{update shop web} {get a b} {get other x/y}]",
		"OPTIONS /v2/shop/web/manifests/latest":                    "[{update shop web}]",
		// The name of a repository may contain words of the API.
		"GET /v2/shop/manifests/tags/list":            "[{get shop manifests}]",
		"GET /v2/shop/blobs/uploads/manifests/latest": "[{get shop blobs/uploads}]",
		// The registry could take these for other names.
		"POST /v2/shop/web/blobs/uploads/?from=web":       unknown,
		"POST /v2/shop/web/blobs/uploads/?from=../x":      unknown,
		"GET /v2/web/manifests/latest":                    unknown,
		"GET /v2/shop/../other/web/manifests/latest":      unknown,
		"GET /v2/shop/./web/manifests/latest":             unknown,
		"GET /v2/shop//web/manifests/latest":              unknown,
		"GET /v2/shop%2Fweb/manifests/latest":             unknown,
		"GET /v2/shop/web%2Fmanifests/latest":             unknown,
		"GET /v2/Shop/web/manifests/latest":               unknown,
		"GET /v2/shop/web":                                unknown,
		"GET /v2/shop/web/blobs/abc":                      unknown,
		"GET /metrics":                                    unknown,
		"GET /":                                           unknown,
		"GET /debug/pprof/":                               unknown,
		"GET /v1/repositories":                            unknown,
		"GET /v2/shop/" + long(250) + "/manifests/latest": "[{get shop " + long(250) + "}]",
		"GET /v2/shop/" + long(251) + "/manifests/latest": unknown,
	} {
		var method, target string
		if _, err := fmt.Sscan(line, &method, &target); err != nil {
			t.Fatal(err)
		}
		at, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(method, "/", http.NoBody)
		r.URL = at
		got := unknown
		if all, known := accesses(r); known {
			got = fmt.Sprint(all)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func long(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = 'a'
	}
	return string(text)
}
