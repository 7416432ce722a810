package load

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
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
			if problem, retried := newLoad(Options{}).send(t.Context(), server.Client(), http.MethodGet, server.URL, ""); problem != tt.problem || retried != tt.retried {
				t.Errorf("got %q after %d repetitions, want %q after %d", problem, retried, tt.problem, tt.retried)
			}
		})
	}
}

// transport answers requests in virtual time.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

func with(status int) (*http.Response, error) {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func TestOnlyReadsWhoseConnectionWasLostAreRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		method  string
		options Options
		err     error
		retried int
	}{
		"a read whose connection was reset":         {http.MethodGet, Options{RepeatReads: true}, syscall.ECONNRESET, 1},
		"a read whose connection was closed":        {http.MethodGet, Options{RepeatReads: true}, io.EOF, 1},
		"a read of a server that is not there":      {http.MethodGet, Options{RepeatReads: true}, syscall.ECONNREFUSED, 0},
		"a create whose connection was reset":       {http.MethodPost, Options{RepeatReads: true}, syscall.ECONNRESET, 0},
		"a read of a client that repeats no reads":  {http.MethodGet, Options{}, syscall.ECONNRESET, 0},
		"a read that fails for some other, unknown": {http.MethodGet, Options{RepeatReads: true}, errors.New("unknown"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			client := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
				if requests++; requests == 1 {
					return nil, tt.err
				}
				return with(http.StatusOK)
			})}
			problem, retried := newLoad(tt.options).send(t.Context(), client, tt.method, "https://api.example.test", "")
			if retried != tt.retried || (problem == "") != (tt.retried > 0) {
				t.Errorf("got %q after %d repetitions, want %d", problem, retried, tt.retried)
			}
		})
	}
}

func (l *Load) answeredBy(answer transport) {
	for _, s := range l.streams {
		s.server.Store(&server{client: &http.Client{Transport: answer}})
	}
}

// The gap is the gap of the client that waited longest, and an outage that goes on counts until now.
func TestGapIsTheLongestTimeWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down, failures atomic.Int64
		began := time.Now()
		l := newLoad(Options{Creates: time.Second, OnFailure: func(at time.Time, _ time.Duration, problem string) {
			if at.Before(began.Add(2*time.Second)) || !strings.Contains(problem, http.StatusText(http.StatusBadGateway)) {
				t.Errorf("%q failed %s after the start", problem, at.Sub(began))
			}
			failures.Add(1)
		}})
		l.answeredBy(func(req *http.Request) (*http.Response, error) {
			switch {
			case down.Load() == 1 || down.Load() == 2 && req.Method == http.MethodPost:
				return with(http.StatusBadGateway)
			case req.Method == http.MethodPost:
				return with(http.StatusCreated)
			}
			return with(http.StatusOK)
		})
		l.start(t.Context())
		defer l.Stop()
		pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }

		pass(1990 * time.Millisecond)
		if c := l.Count(); c.Failed != 0 || c.Asked != 2*39+1 || c.Gaps[NewConnections] != interval || c.Gap != time.Second {
			t.Errorf("before the outage: %+v", c)
		}
		down.Store(1)
		pass(3 * time.Second)
		if c := l.Count(); c.Gaps[NewConnections] < 3*time.Second || c.Gaps[NewConnections] > 3100*time.Millisecond || c.Asked != c.Failed || int(failures.Load()) != c.Failed {
			t.Errorf("in the outage: %+v", c)
		}
		down.Store(0)
		pass(2 * time.Second)
		if c := l.Count(); c.Gaps[OneConnection] < 3*time.Second || c.Gaps[OneConnection] > 3100*time.Millisecond || c.Failed != 0 {
			t.Errorf("after the outage, the first answer ends the gap: %+v", c)
		}
		pass(2 * time.Second)
		if c := l.Count(); c.Gap > time.Second+interval {
			t.Errorf("a gap is counted twice: %+v", c)
		}
		down.Store(2)
		pass(4 * time.Second)
		if c := l.Count(); c.Gap != c.Gaps[Creates] || c.Gap < 4*time.Second || c.Gaps[OneConnection] != interval {
			t.Errorf("when only creates fail: %+v", c)
		}
	})
}

// A request that began before the call may be answered by a server that stops after it.
func TestAwaitAnswersWaitsForRequestsThatBeganAfterTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 2 * time.Second
		var down atomic.Bool
		l := newLoad(Options{Creates: time.Second})
		l.answeredBy(func(req *http.Request) (*http.Response, error) {
			time.Sleep(takes)
			if down.Load() && req.Method == http.MethodPost {
				return with(http.StatusBadGateway)
			}
			return with(http.StatusOK)
		})
		l.start(t.Context())
		defer l.Stop()
		time.Sleep(10 * time.Second)
		began := time.Now()
		if err := l.AwaitAnswers(t.Context()); err != nil || time.Since(began) < takes {
			t.Errorf("waited for %v, answers take %v: %v", time.Since(began), takes, err)
		}
		down.Store(true)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := l.AwaitAnswers(ctx); err == nil || !strings.HasPrefix(err.Error(), "no answer for creates: ") {
			t.Errorf("while creates fail: %v", err)
		}
	})
}

func TestClientUsesItsNewKubeconfig(t *testing.T) {
	var first, second atomic.Int64
	kubeconfig := func(name string, n *atomic.Int64) string {
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) }))
		t.Cleanup(s.Close)
		file := filepath.Join(t.TempDir(), name)
		text := "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: '" + s.URL + "'}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	one, two := kubeconfig("first", &first), kubeconfig("second", &second)
	l, err := Start(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Stop()
	arrive(t, &first, 1)
	if err := l.Use(two); err != nil {
		t.Fatal(err)
	}
	arrive(t, &second, 10)
	if c := l.Count(); c.Failed > 0 {
		t.Error(c)
	}
	if err := l.Use(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a kubeconfig that does not exist is accepted")
	}
}

// arrive waits until so many requests have arrived.
func arrive(t *testing.T, n *atomic.Int64, want int64) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), interval, 10*time.Second, true, func(context.Context) (bool, error) { return n.Load() >= want, nil })
	if err != nil {
		t.Fatalf("%d requests have arrived, want %d: %v", n.Load(), want, err)
	}
}

func TestErrorOfTheServerHasItsMessage(t *testing.T) {
	for want, answer := range map[string]struct {
		code int
		body string
	}{
		"500 Internal Server Error: etcdserver: no leader": {http.StatusInternalServerError, `{"kind":"Status","message":"etcdserver: no leader"}`},
		"500 Internal Server Error":                        {http.StatusInternalServerError, "no JSON"},
		"401 Unauthorized":                                 {http.StatusUnauthorized, `{"kind":"Status","message":"Unauthorized"}`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(answer.code)
			_, _ = io.WriteString(w, answer.body)
		}))
		if got, _ := newLoad(Options{}).send(t.Context(), server.Client(), http.MethodGet, server.URL, ""); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		server.Close()
	}
}
