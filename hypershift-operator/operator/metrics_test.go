package operator

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// reviews is an API server that knows two tokens, of which one may get /metrics.
func reviews(t *testing.T) *rest.Config {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
			var review authenticationv1.TokenReview
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				t.Error(err)
			}
			user, known := map[string]string{"collector-token": "collector", "tenant-token": "tenant"}[review.Spec.Token]
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: known, User: authenticationv1.UserInfo{Username: user}}
			_ = json.NewEncoder(w).Encode(review)
		case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
			var review authorizationv1.SubjectAccessReview
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				t.Error(err)
			}
			asked := review.Spec.NonResourceAttributes
			review.Status.Allowed = review.Spec.User == "collector" && asked != nil && asked.Path == "/metrics" && asked.Verb == "get"
			_ = json.NewEncoder(w).Encode(review)
		default:
			t.Errorf("the API server is asked for %s", r.URL.Path)
		}
	}))
	t.Cleanup(api.Close)
	return &rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func TestWhoReadsTheMetrics(t *testing.T) {
	cfg := reviews(t)
	metrics, err := server.NewServer(metricsOptions("127.0.0.1:0"), cfg, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = metrics.Start(ctx) }()
	bound := metrics.(interface{ GetBindAddr() string })
	for deadline := time.Now().Add(10 * time.Second); bound.GetBindAddr() == "" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // The server has no other sign that it listens.
	}
	c := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for name, tc := range map[string]struct {
		scheme, token string
		want          int
	}{
		"a collector with the role":           {"https", "collector-token", http.StatusOK},
		"a pod without a token":               {"https", "", http.StatusUnauthorized},
		"a pod with a token that is made up":  {"https", "made-up", http.StatusUnauthorized},
		"a pod with a token and without role": {"https", "tenant-token", http.StatusForbidden},
		"a collector that does not encrypt":   {"http", "collector-token", http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tc.scheme+"://"+bound.GetBindAddr()+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.token != "" {
				req.Header.Set("Authorization", "Bearer "+tc.token)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tc.want {
				t.Errorf("status %d, want %d", resp.StatusCode, tc.want)
			}
		})
	}
}
