package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/leftovers"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/consoletest"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
)

// site is a console on a free port with clusters in memory.
type site struct {
	*consoletest.Source
	base, token string
	client      *http.Client
}

func open(t *testing.T, change func(context.Context, types.NamespacedName, Change) error) *site {
	t.Helper()
	source := consoletest.NewSource(time.Now)
	source.Put(consoletest.Private("clusters", "demo", time.Now()))
	ctx, cancel := context.WithCancel(t.Context())
	model, err := NewModel(ctx, source)
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(Options{
		Clock: clock.RealClock{}, Title: "management", Change: change,
		Doctor: func(context.Context, types.NamespacedName) ([]prerequisites.Result, error) { return nil, nil },
	}, model)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opened, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener, func(address string) { opened <- address }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	s := &site{Source: source, client: &http.Client{Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	s.base, s.token, _ = strings.Cut(<-opened, "/?token=")
	return s
}

// answer is a response without its connection.
type answer struct {
	status int
	header http.Header
	text   string
}

func (s *site) do(t *testing.T, method, path, body string, edit func(*http.Request)) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(request.URL.Host)
	request.AddCookie(&http.Cookie{Name: "hypershift-console-" + port, Value: s.token})
	if body != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if edit != nil {
		edit(request)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

func TestWhoMaySeePages(t *testing.T) {
	s := open(t, nil)
	for name, c := range map[string]struct {
		path string
		edit func(*http.Request)
		want int
	}{
		"with the cookie":                       {"/", nil, http.StatusOK},
		"without a cookie":                      {"/", func(r *http.Request) { r.Header.Del("Cookie") }, http.StatusForbidden},
		"the file of a script without a cookie": {"/assets/console.js", func(r *http.Request) { r.Header.Del("Cookie") }, http.StatusForbidden},
		"with the cookie of another console":    {"/", func(r *http.Request) { r.Header.Set("Cookie", "hypershift-console-1="+s.token) }, http.StatusForbidden},
		"with a wrong token":                    {"/?token=wrong", nil, http.StatusForbidden},
		"with the token":                        {"/clusters/clusters/demo?token=" + s.token + "&x=1", func(r *http.Request) { r.Header.Del("Cookie") }, http.StatusSeeOther},
		"a name that another site leads here":   {"/", func(r *http.Request) { r.Host = "attacker.example:80" }, http.StatusMisdirectedRequest},
		"the name of another port":              {"/", func(r *http.Request) { r.Host = "127.0.0.1:1" }, http.StatusMisdirectedRequest},
		"localhost":                             {"/", func(r *http.Request) { r.Host = strings.Replace(r.URL.Host, "127.0.0.1", "localhost", 1) }, http.StatusOK},
		"a page that does not exist":            {"/secrets", nil, http.StatusNotFound},
		"a file outside of the assets":          {"/assets/..%2fserver.go", nil, http.StatusNotFound},
		"a cluster that does not exist":         {"/clusters/clusters/absent", nil, http.StatusNotFound},
		"leftovers without credentials":         {"/leftovers", nil, http.StatusNotFound},
		"a change without the flag":             {"/clusters/clusters/demo/change", func(r *http.Request) { r.Method = http.MethodPost }, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			response := s.do(t, http.MethodGet, c.path, "", c.edit)
			if response.status != c.want {
				t.Errorf("status %d, want %d: %s", response.status, c.want, response.text)
			}
			policy := response.header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("policy %q", policy)
			}
			if c.want == http.StatusSeeOther {
				if to := response.header.Get("Location"); to != "/clusters/clusters/demo?x=1" {
					t.Errorf("the token leads to %q", to)
				}
				if cookie := response.header.Get("Set-Cookie"); !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
					t.Errorf("cookie %q", cookie)
				}
			}
		})
	}
}

func TestTokenDoesNotLeadToAnotherHost(t *testing.T) {
	s := open(t, nil)
	for _, path := range []string{"//attacker.example/", "/%2fattacker.example/", "/\\attacker.example/"} {
		response := s.do(t, http.MethodGet, path+"?token="+s.token, "", nil)
		if to := response.header.Get("Location"); strings.HasPrefix(to, "//") || strings.HasPrefix(to, "/\\") || strings.Contains(to, "://") {
			t.Errorf("%s leads to %q", path, to)
		}
	}
}

func TestChangesNeedTheOwnSite(t *testing.T) {
	var made []Change
	refuse := false
	s := open(t, func(_ context.Context, _ types.NamespacedName, c Change) error {
		if refuse {
			return fmt.Errorf("denied: <b>1.38.0</b> is not supported")
		}
		made = append(made, c)
		return nil
	})
	for name, c := range map[string]struct {
		path, body string
		edit       func(*http.Request)
		want       int
	}{
		"pause":                 {"/clusters/clusters/demo/change", "do=pause", nil, http.StatusSeeOther},
		"another site":          {"/clusters/clusters/demo/change", "do=pause", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"another origin":        {"/clusters/clusters/demo/change", "do=pause", func(r *http.Request) { r.Header.Set("Origin", "http://attacker.example") }, http.StatusForbidden},
		"without a cookie":      {"/clusters/clusters/demo/change", "do=pause", func(r *http.Request) { r.Header.Del("Cookie") }, http.StatusForbidden},
		"no change":             {"/clusters/clusters/demo/change", "do=delete", nil, http.StatusBadRequest},
		"no release":            {"/clusters/clusters/demo/change", "do=upgrade", nil, http.StatusBadRequest},
		"a cluster that is not": {"/clusters/clusters/absent/change", "do=pause", nil, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			made = nil
			response := s.do(t, http.MethodPost, c.path, c.body, c.edit)
			if response.status != c.want || (len(made) == 1) != (c.want == http.StatusSeeOther) {
				t.Errorf("status %d, %d changes: %s", response.status, len(made), response.text)
			}
		})
	}
	refuse = true
	response := s.do(t, http.MethodPost, "/clusters/clusters/demo/change", "do=upgrade&release=r%3A1", nil)
	if response.status != http.StatusUnprocessableEntity || !strings.Contains(response.text, "&lt;b&gt;1.38.0&lt;/b&gt; is not supported") {
		t.Errorf("status %d: %s", response.status, response.text)
	}
}

// event is one server-sent event.
type event struct{ name, data string }

// live returns the events of a page.
func (s *site) live(t *testing.T, page string) <-chan event {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/live?page="+page, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(request.URL.Host)
	request.AddCookie(&http.Cookie{Name: "hypershift-console-" + port, Value: s.token})
	response, err := (&http.Client{}).Do(request) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		t.Fatalf("status %d", response.StatusCode)
	}
	events := make(chan event, 100)
	go func() {
		defer response.Body.Close()
		var e event
		for lines := bufio.NewReader(response.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				close(events)
				return
			}
			line = strings.TrimSuffix(line, "\n")
			switch {
			case strings.HasPrefix(line, "event: "):
				e.name = line[len("event: "):]
			case strings.HasPrefix(line, "data: "):
				e.data = line[len("data: "):]
			case line == "":
				events <- e
			}
		}
	}()
	return events
}

// next returns the next part of a page that has changed.
func next(t *testing.T, events <-chan event) update {
	t.Helper()
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case e := <-events:
			if e.name != "morph" {
				continue
			}
			var u update
			if err := json.Unmarshal([]byte(e.data), &u); err != nil {
				t.Fatal(err)
			}
			return u
		case <-timeout:
			t.Fatal("no part of the page has changed")
		}
	}
}

func TestOnlyTheRowThatHasChangedIsSent(t *testing.T) {
	s := open(t, nil)
	other := consoletest.Private("clusters", "other", time.Now())
	s.Put(other)
	events := s.live(t, "/")
	for u := (update{}); u.ID != "rows" || !strings.Contains(u.HTML, "other"); {
		u = next(t, events) // until the page has both clusters
	}
	s.Put(consoletest.SetCondition(other, hyperv1.HostedClusterReady, metav1.ConditionFalse, "Etcd", "no leader", time.Now()))
	for {
		u := next(t, events)
		if u.ID == "summary" {
			continue
		}
		if u.ID != "row-uid-clusters-other" || !strings.Contains(u.HTML, "no leader") || strings.Contains(u.HTML, "demo") {
			t.Errorf("%+v", u)
		}
		break
	}
	s.Delete(types.NamespacedName{Namespace: "clusters", Name: "other"})
	for {
		if u := next(t, events); u.ID == "rows" {
			if strings.Contains(u.HTML, "other") {
				t.Errorf("a cluster that was deleted is in %s", u.HTML)
			}
			return
		}
	}
}

func TestPageOfAClusterChangesWithItsCluster(t *testing.T) {
	s := open(t, nil)
	events := s.live(t, "/clusters/clusters/demo")
	next(t, events)
	s.Put(consoletest.Private("clusters", "other", time.Now()))
	s.Delete(types.NamespacedName{Namespace: "clusters", Name: "demo"})
	if u := next(t, events); !strings.Contains(u.HTML, "There is no HostedCluster demo") {
		t.Errorf("%+v", u)
	}
}

func TestLiveRefusesOtherPages(t *testing.T) {
	s := open(t, nil)
	for page, want := range map[string]int{"//attacker.example/": http.StatusBadRequest, "/live": http.StatusNotFound, "/assets/console.js": http.StatusNotFound, "": http.StatusBadRequest, "%2Fclusters%2F..%2F..%2F": http.StatusNotFound} {
		response := s.do(t, http.MethodGet, "/live?page="+page, "", nil)
		if response.status != want {
			t.Errorf("%q: status %d, want %d", page, response.status, want)
		}
	}
}

func TestPagesThatAreOpenAreLimited(t *testing.T) {
	s := open(t, nil)
	for range maxStreams {
		s.live(t, "/")
	}
	if response := s.do(t, http.MethodGet, "/live?page=/", "", nil); response.status != http.StatusServiceUnavailable {
		t.Errorf("status %d", response.status)
	}
	if response := s.do(t, http.MethodGet, "/", "", nil); response.status != http.StatusOK {
		t.Errorf("pages are refused, too: %d", response.status)
	}
}

func TestQuote(t *testing.T) {
	for arg, want := range map[string]string{"demo": "demo", "": "''", "a b": "'a b'", `it's $HOME`: `'it'\''s $HOME'`, "aws:///us-east-1a/i-1": "aws:///us-east-1a/i-1"} {
		if got := quote(arg); got != want {
			t.Errorf("%q becomes %s", arg, got)
		}
	}
}

// TestFilesAreSmall: a page is useful over a slow connection, too.
func TestFilesAreSmall(t *testing.T) {
	files, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, f := range files {
		text, err := assets.ReadFile("assets/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		sum += len(text)
	}
	if sum > 100_000 {
		t.Errorf("the files have %d bytes", sum)
	}
}

// TestOtherNamespacesAreNotLeftBehind: a console of one namespace does not know the clusters of others.
func TestOtherNamespacesAreNotLeftBehind(t *testing.T) {
	account := Account{ID: "222222222222", Region: "us-east-1", Clusters: map[string]int{"other-abcde": 3}, Resources: []leftovers.Resource{{Kind: "VPC", ID: "vpc-1"}}}
	for all, want := range map[bool]string{true: "none in this management cluster", false: "not in the only namespace"} {
		if got := render(infraIDs(account, nil, all)); !strings.Contains(got, want) {
			t.Errorf("all namespaces %t: %s", all, got)
		}
		if got := render(resourcesOf(account, "other-abcde", types.NamespacedName{}, all)); strings.Contains(got, "--delete") != all {
			t.Errorf("all namespaces %t: %s", all, got)
		}
	}
}

func TestResultOutlivesItsFirstReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the browser has gone
	var m memo
	value, _, err := m.do(ctx, clock.RealClock{}, "key", func(ctx context.Context) (any, error) { return "done", ctx.Err() })
	if err != nil || value != "done" {
		t.Errorf("%v, %v", value, err)
	}
}
