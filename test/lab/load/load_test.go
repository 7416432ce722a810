package load

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// An API server that shuts down answers 429 with Retry-After, and clients repeat the request; any other 429 is a failure.
func TestOnly429WithRetryAfterIsRetried(t *testing.T) {
	for name, tt := range map[string]struct {
		header, problem string
		retried         int
	}{
		"with Retry-After":    {header: "0", retried: 1},
		"without Retry-After": {problem: "429 Too Many Requests"},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if requests++; requests == 1 {
					if tt.header != "" {
						w.Header().Set("Retry-After", tt.header)
					}
					w.WriteHeader(http.StatusTooManyRequests)
				}
			}))
			defer server.Close()
			if problem, retried := get(t.Context(), server.Client(), server.URL); problem != tt.problem || retried != tt.retried {
				t.Errorf("got %q after %d repetitions, want %q after %d", problem, retried, tt.problem, tt.retried)
			}
		})
	}
}
