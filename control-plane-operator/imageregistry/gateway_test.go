package imageregistry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeCluster is an API server. Users are their tokens; they may do what is in allowed, as "<user> <verb> <namespace>/<name>".
type fakeCluster struct {
	*httptest.Server
	mu      sync.Mutex
	users   []string
	allowed []string
	// asked are the reviews since the last reset.
	asked []string
	down  bool
	lease *lease
	// leaseReads counts the reads of the Lease.
	leaseReads int
}

func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	f := &fakeCluster{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.down || r.Header.Get("Authorization") != "Bearer gateway" {
			http.Error(w, `{"kind": "Status", "message": "etcd is not reached"}`, http.StatusInternalServerError)
			return
		}
		f.serve(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeCluster) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		var review struct{ Spec struct{ Token string } }
		_ = json.NewDecoder(r.Body).Decode(&review)
		f.asked = append(f.asked, "token "+review.Spec.Token)
		known := slices.Contains(f.users, review.Spec.Token)
		_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"authenticated": known, "user": map[string]any{"username": review.Spec.Token}}})
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		var review struct {
			Spec struct {
				User               string
				Groups             []string
				ResourceAttributes struct{ Group, Resource, Verb, Namespace, Name string }
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&review)
		a := review.Spec.ResourceAttributes
		if a.Group != group || a.Resource != resource || review.Spec.User == anonymous.Username && !slices.Equal(review.Spec.Groups, anonymous.Groups) {
			http.Error(w, "an unexpected review", http.StatusBadRequest)
			return
		}
		question := fmt.Sprintf("%s %s %s/%s", review.Spec.User, a.Verb, a.Namespace, a.Name)
		f.asked = append(f.asked, question)
		_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"allowed": slices.Contains(f.allowed, question)}})
	case leases + "/" + leaseName, leases:
		if r.Method == http.MethodGet {
			f.leaseReads++
		} else {
			f.lease = &lease{}
			_ = json.NewDecoder(r.Body).Decode(f.lease)
		}
		if f.lease == nil {
			http.Error(w, `{"kind": "Status", "message": "not found"}`, http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(f.lease)
	}
}

func (f *fakeCluster) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// client returns the API server as a pod sees it.
func (f *fakeCluster) client(t *testing.T) *cluster {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("gateway\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &cluster{url: f.URL, tokenFile: token, client: f.Client()}
}

// env is a gateway in front of a registry that records its requests.
type env struct {
	t       *testing.T
	cluster *fakeCluster
	gateway *Gateway
	mu      sync.Mutex
	now     time.Time
	// seen are the requests that have reached the registry.
	seen []string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{t: t, cluster: newFakeCluster(t), gateway: &Gateway{}, now: time.Unix(1000, 0)}
	e.cluster.users = []string{"jane", "joe"}
	e.cluster.allowed = []string{"jane update shop/web", "jane get shop/web", "system:anonymous get shop/web", "joe get other/x", "joe update shop/web"}
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the registry gets the user's credentials")
		}
		e.seen = append(e.seen, r.Method+" "+r.URL.String())
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(registry.Close)
	at, err := url.Parse(registry.URL)
	if err != nil {
		t.Fatal(err)
	}
	e.gateway.use(at, e.cluster.client(t), func() time.Time {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.now
	})
	return e
}

func (e *env) later(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = e.now.Add(d)
}

// request returns the status, and the header and text of the answer.
func (e *env) request(method, path, user string) (int, http.Header, string) {
	r := httptest.NewRequestWithContext(e.t.Context(), method, path, strings.NewReader("body"))
	if user != "" {
		r.SetBasicAuth("anything", user)
	}
	w := httptest.NewRecorder()
	e.gateway.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.String()
}

func TestTheAPIServerDecides(t *testing.T) {
	const push, pull, root = "/v2/shop/web/blobs/uploads/", "/v2/shop/web/manifests/1", "/v2/"
	for name, c := range map[string]struct {
		method, path, user string
		want               int
		words              string
	}{
		"a user with the permission":       {"POST", push, "jane", 202, "body"},
		"a user of another namespace":      {"POST", "/v2/other/web/blobs/uploads/", "jane", 403, "bind the ClusterRole"},
		"a deletion without permission":    {"DELETE", pull, "jane", 403, "may not delete shop/web"},
		"a push without credentials":       {"POST", push, "", 401, "UNAUTHORIZED"},
		"a push with a wrong password":     {"POST", push, "mallory", 401, "not a token"},
		"a pull without credentials":       {"GET", pull, "", 202, ""},
		"a pull with a wrong password":     {"GET", pull, "mallory", 401, "not a token"},
		"a login":                          {"GET", root, "jane", 202, ""},
		"a login without credentials":      {"GET", root, "", 401, "UNAUTHORIZED"},
		"a layer of another repository":    {"POST", push + "?mount=sha256:a&from=other/x", "jane", 403, "may not get other/x"},
		"a layer that the user may read":   {"POST", push + "?mount=sha256:a&from=other/x", "joe", 202, ""},
		"the names of all repositories":    {"GET", "/v2/_catalog", "jane", 403, "list"},
		"a repository without a namespace": {"GET", "/v2/web/manifests/1", "jane", 404, "<namespace>/<name>"},
		"the registry's own pages":         {"GET", "/debug/vars", "jane", 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			got, header, text := e.request(c.method, c.path, c.user)
			if got != c.want || !strings.Contains(text, c.words) {
				t.Errorf("%d %s, want %d with %q", got, text, c.want, c.words)
			}
			if asks := header.Get("WWW-Authenticate") != ""; asks != (c.want == http.StatusUnauthorized) {
				t.Errorf("it asks for credentials: %v", asks)
			}
			if reached := len(e.seen) > 0; reached != (c.want == http.StatusAccepted) {
				t.Errorf("the registry has got %v", e.seen)
			}
		})
	}
}

// The registry takes the name of another repository also from a form.
func TestLayersOfOthersAreNotMountedByAForm(t *testing.T) {
	for _, kind := range []string{"application/x-www-form-urlencoded", "Application/X-WWW-Form-Urlencoded; charset=utf-8", "multipart/form-data; boundary=a"} {
		e := newEnv(t)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v2/shop/web/blobs/uploads/", strings.NewReader("mount=sha256:a&from=other/x"))
		r.SetBasicAuth("jane", "jane")
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		e.gateway.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound || len(e.seen) > 0 {
			t.Errorf("%s: %d, and the registry has got %v", kind, w.Code, e.seen)
		}
	}
}

// A token in a header of type Bearer is the same user.
func TestTokensAreAccepted(t *testing.T) {
	for header, want := range map[string]int{"Bearer jane": 202, "Bearer mallory": 401, "Bearer ": 401, "Digest jane": 401} {
		e := newEnv(t)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v2/shop/web/blobs/uploads/", http.NoBody)
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		e.gateway.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", header, w.Code, want)
		}
	}
}

// A push has dozens of requests. A permission that was taken away ends soon.
func TestDecisionsAreUsedAgainForAShortTime(t *testing.T) {
	e := newEnv(t)
	for range 20 {
		e.request("POST", "/v2/shop/web/blobs/uploads/", "jane")
	}
	if want := []string{"token jane", "jane update shop/web"}; !slices.Equal(e.cluster.asked, want) {
		t.Errorf("the API server is asked %q, want %q", e.cluster.asked, want)
	}
	e.cluster.set(func() { e.cluster.allowed = nil })
	e.later(decisionLife)
	if got, _, _ := e.request("POST", "/v2/shop/web/blobs/uploads/", "jane"); got != http.StatusForbidden {
		t.Errorf("after the permission is gone: %d", got)
	}
	for i := range 3 * maxDecisions {
		e.gateway.reviewer.known[question{access: access{name: fmt.Sprint(i)}}] = answered{}
		if i%1000 == 0 {
			e.request("GET", fmt.Sprintf("/v2/shop/web%d/manifests/1", i), "jane")
		}
	}
	e.request("GET", "/v2/shop/last/manifests/1", "jane")
	if n := len(e.gateway.reviewer.known); n > maxDecisions {
		t.Errorf("%d decisions are kept", n)
	}
}

func TestWithoutAnAPIServerNothingIsAllowed(t *testing.T) {
	e := newEnv(t)
	e.cluster.set(func() { e.cluster.down = true })
	if got, _, text := e.request("GET", "/v2/shop/web/manifests/1", ""); got != http.StatusServiceUnavailable || !strings.Contains(text, "try again") {
		t.Errorf("%d %s", got, text)
	}
	if len(e.seen) > 0 {
		t.Errorf("the registry has got %v", e.seen)
	}
}

func TestWritesWaitForTheGarbageCollection(t *testing.T) {
	e := newEnv(t)
	push := func(step string, want int) {
		t.Helper()
		if got, _, text := e.request("POST", "/v2/shop/web/blobs/uploads/", "jane"); got != want {
			t.Errorf("%s: %d %s, want %d", step, got, text, want)
		}
	}
	change := func(spec leaseSpec) {
		e.cluster.set(func() { e.cluster.lease = &lease{Spec: spec} })
		e.later(leaseTrust)
	}
	push("before", http.StatusAccepted)
	change(leaseSpec{HolderIdentity: "pod", RenewTime: "1"})
	push("while it is held", http.StatusServiceUnavailable)
	if got, _, _ := e.request("GET", "/v2/shop/web/manifests/1", ""); got != http.StatusAccepted {
		t.Errorf("a pull meanwhile: %d", got)
	}
	e.later(leaseLife - 2*leaseTrust)
	change(leaseSpec{HolderIdentity: "pod", RenewTime: "2"})
	push("after a renewal", http.StatusServiceUnavailable)
	e.later(leaseLife - leaseTrust)
	push("before it expires", http.StatusServiceUnavailable)
	e.later(leaseTrust)
	push("when the holder is dead", http.StatusAccepted)
	change(leaseSpec{HolderIdentity: "next"})
	push("while another pod holds it", http.StatusServiceUnavailable)
	change(leaseSpec{})
	push("when it is released", http.StatusAccepted)
}

// The Lease is not read at rest or by pulls, and once for the requests of a push.
func TestTheLeaseIsReadForWrites(t *testing.T) {
	e := newEnv(t)
	for range 5 {
		e.request("GET", "/v2/shop/web/manifests/1", "")
	}
	if e.cluster.leaseReads != 0 {
		t.Errorf("%d reads for pulls", e.cluster.leaseReads)
	}
	for range 20 {
		e.request("POST", "/v2/shop/web/blobs/uploads/", "jane")
	}
	if e.cluster.leaseReads != 1 {
		t.Errorf("%d reads for a push", e.cluster.leaseReads)
	}
}

// A gateway that cannot read the Lease refuses writes, also of users that it knows.
func TestWritesNeedTheLease(t *testing.T) {
	e := newEnv(t)
	for _, want := range []int{http.StatusAccepted, http.StatusServiceUnavailable} {
		if got, _, text := e.request("POST", "/v2/shop/web/blobs/uploads/", "jane"); got != want {
			t.Errorf("%d %s, want %d", got, text, want)
		}
		e.cluster.set(func() { e.cluster.down = true })
		e.later(leaseTrust)
	}
}

func TestProbes(t *testing.T) {
	e := newEnv(t)
	if got, _, _ := e.request("GET", "/livez", ""); got != http.StatusOK || len(e.seen) > 0 {
		t.Errorf("/livez: %d, and the registry has got %v", got, e.seen)
	}
	if got, _, _ := e.request("GET", "/readyz", ""); got != http.StatusAccepted || !slices.Equal(e.seen, []string{"GET /"}) {
		t.Errorf("/readyz: %d, and the registry has got %v", got, e.seen)
	}
}
