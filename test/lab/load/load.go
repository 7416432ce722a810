// Package load sends a steady stream of requests to an API server, counts the failures, and measures how long a client was
// without an answer. Half of the reads use one connection that is kept, half open a new connection each, because clients of
// both kinds exist.
package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// interval is the time between two requests of one stream.
	interval = 50 * time.Millisecond
	// timeout ends a request; it then counts as failed. It is as long as a client-go connection waits before it looks whether the
	// server still answers (HTTP2_READ_IDLE_TIMEOUT_SECONDS).
	timeout = 30 * time.Second
	// slow is the time from which a request with a good answer counts as slow: on a busy machine that is no fault of the server.
	slow = 5 * time.Second
	// path is an object that the API server reads from etcd.
	path = "/api/v1/namespaces/default"
	// created is where objects are created.
	created = "/api/v1/namespaces/default/configmaps"
	// retries is how often a request is repeated when the server answers 429 with Retry-After, like client-go's
	// rest.Request. An API server that shuts down answers so (--shutdown-send-retry-after).
	retries = 10
)

// The names of the clients.
const (
	OneConnection  = "one connection"
	NewConnections = "new connections"
	Creates        = "creates"
)

// Options configure a Load. Empty fields have defaults.
type Options struct {
	// Path is the path to read; by default an object that the API server reads from etcd.
	Path string
	// Creates is the time between two ConfigMaps that are created; 0 creates none. They remain.
	Creates time.Duration
	// RepeatReads sends a read again after its connection was reset or closed, like client-go's rest.Request. It counts as repeated, not as
	// failed.
	RepeatReads bool
	// OnFailure is called with every failed request: when it began, how long it took, and the error.
	OnFailure func(began time.Time, took time.Duration, problem string)
}

// A Load is a stream of requests.
type Load struct {
	options Options
	stop    context.CancelFunc
	done    sync.WaitGroup
	streams []*stream

	mu      sync.Mutex
	good    int
	slow    int
	retried int
	failed  map[string]int // by the error
}

// stream sends one request after the other.
type stream struct {
	name     string
	keeps    bool // one connection is used for all requests
	interval time.Duration
	request  func() (method, path, body string)
	server   atomic.Pointer[server]

	// Guarded by Load.mu: when the last good answer came, when its request began, and the longest time without one.
	answered, asked time.Time
	gap             time.Duration
}

// server is where requests are sent to, and with which credentials.
type server struct {
	host   string
	client *http.Client
}

// A Count is the result of a stream of requests.
type Count struct {
	// Asked is the number of requests, Failed the number without a good answer, Slow the number with a good answer after more
	// than 5 seconds, and Retried the number of repeated requests: on request of the server, or as described in Options.
	Asked, Failed, Slow, Retried int
	// Words lists the errors and how often each occurred.
	Words string
	// Gap is the longest time between two good answers to the same client, and Gaps has it for each client. A client that has no
	// answer yet counts with the time until now.
	Gap  time.Duration
	Gaps map[string]time.Duration
}

// Percent is the share of requests that failed.
func (c Count) Percent() float64 { return 100 * float64(c.Failed) / float64(max(c.Asked, 1)) }

func (c Count) String() string {
	text := fmt.Sprintf("%d requests, %d failed (%.2f %%) %s", c.Asked, c.Failed, c.Percent(), c.Words)
	if c.Slow > 0 {
		text += fmt.Sprintf(" (%d took more than %v)", c.Slow, slow)
	}
	if c.Retried > 0 {
		text += fmt.Sprintf(" (%d repeated)", c.Retried)
	}
	return strings.TrimSpace(text)
}

// Start begins to send requests with the user of the kubeconfig, until Stop.
func Start(ctx context.Context, kubeconfig string) (*Load, error) {
	return StartWith(ctx, kubeconfig, Options{})
}

// StartAt does so for another path.
func StartAt(ctx context.Context, kubeconfig, path string) (*Load, error) {
	return StartWith(ctx, kubeconfig, Options{Path: path})
}

// StartWith does so with these options.
func StartWith(ctx context.Context, kubeconfig string, o Options) (*Load, error) {
	l := newLoad(o)
	if err := l.Use(kubeconfig); err != nil {
		return nil, err
	}
	l.start(ctx)
	return l, nil
}

func newLoad(o Options) *Load {
	if o.Path == "" {
		o.Path = path
	}
	read := func() (string, string, string) { return http.MethodGet, o.Path, "" }
	l := &Load{options: o, failed: map[string]int{}, streams: []*stream{
		{name: OneConnection, keeps: true, interval: interval, request: read},
		{name: NewConnections, interval: interval, request: read},
	}}
	if o.Creates > 0 {
		number, names := 0, fmt.Sprintf("load-%d", time.Now().UnixNano())
		l.streams = append(l.streams, &stream{name: Creates, keeps: true, interval: o.Creates, request: func() (string, string, string) {
			number++
			return http.MethodPost, created, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s-%d"}}`, names, number)
		}})
	}
	return l
}

// Use sends all further requests with the user and to the server of this kubeconfig, as a client that reads its kubeconfig again.
func (l *Load) Use(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("sending requests to an API server: %w", err)
	}
	for _, s := range l.streams {
		tls, err := rest.TLSConfigFor(config)
		if err != nil {
			return fmt.Errorf("sending requests to an API server: %w", err)
		}
		transport := &http.Transport{TLSClientConfig: tls, DisableKeepAlives: !s.keeps, ForceAttemptHTTP2: s.keeps}
		if before := s.server.Swap(&server{host: config.Host, client: &http.Client{Timeout: timeout, Transport: transport}}); before != nil {
			before.client.CloseIdleConnections()
		}
	}
	return nil
}

func (l *Load) start(ctx context.Context) {
	ctx, l.stop = context.WithCancel(ctx)
	now := time.Now()
	for _, s := range l.streams {
		s.answered = now
		l.done.Go(func() { l.run(ctx, s) })
	}
}

// Stop ends the stream and waits for it.
func (l *Load) Stop() {
	l.stop()
	l.done.Wait()
}

func (l *Load) run(ctx context.Context, s *stream) {
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		method, path, body := s.request()
		to := s.server.Load()
		began := time.Now()
		problem, retried := l.send(ctx, to.client, method, to.host+path, body)
		if ctx.Err() != nil {
			return // the request was canceled by Stop
		}
		l.add(s, began, problem, retried)
	}
}

// add counts a request.
func (l *Load) add(s *stream, began time.Time, problem string, retried int) {
	now := time.Now()
	if problem != "" && l.options.OnFailure != nil {
		l.options.OnFailure(began, now.Sub(began), s.name+": "+problem)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retried += retried
	if problem != "" {
		l.failed[problem]++
		return
	}
	l.good++
	if now.Sub(began) > slow && retried == 0 {
		l.slow++
	}
	s.gap, s.answered, s.asked = max(s.gap, now.Sub(s.answered)), now, began
}

// send sends one request, repeated as long as the server answers 429 with Retry-After, and a read also as described in Options. It
// returns the error in a form that many failures share, empty without an error, and the number of repetitions.
func (l *Load) send(ctx context.Context, c *http.Client, method, url, body string) (problem string, retried int) {
	for ; ; retried++ {
		req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			return err.Error(), retried
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := c.Do(req)
		if err != nil {
			lost := utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err)
			if l.options.RepeatReads && lost && method == http.MethodGet && retried < retries && ctx.Err() == nil {
				continue
			}
			text := err.Error()
			return strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:]), retried
		}
		problem = refusal(resp)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated {
			return "", retried
		}
		after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if resp.StatusCode != http.StatusTooManyRequests || err != nil || retried == retries {
			return problem, retried
		}
		select {
		case <-ctx.Done():
			return problem, retried
		case <-time.After(time.Duration(after) * time.Second):
		}
	}
}

// refusal is the status of an answer, of an error of the server with its message.
func refusal(resp *http.Response) string {
	var status metav1.Status
	if resp.StatusCode < http.StatusInternalServerError || json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&status) != nil || status.Message == "" {
		return resp.Status
	}
	return resp.Status + ": " + status.Message
}

// Asked returns the number of requests since the last call of Count.
func (l *Load) Asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := l.good
	for _, n := range l.failed {
		asked += n
	}
	return asked
}

// AwaitAnswers waits until each client has received a good answer to a request that it began after the call, or until ctx ends. A
// Count before that contains only the first part of an outage.
func (l *Load) AwaitAnswers(ctx context.Context) error {
	called := time.Now()
	for {
		if waiting := l.unanswered(called); len(waiting) == 0 {
			return nil
		} else if ctx.Err() != nil {
			return fmt.Errorf("no answer for %s: %w", strings.Join(waiting, ", "), ctx.Err())
		}
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

// unanswered names the clients without a good answer to a request that began after that time.
func (l *Load) unanswered(after time.Time) (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.streams {
		if s.asked.Before(after) {
			names = append(names, s.name)
		}
	}
	return names
}

// Count returns the result since the last call.
func (l *Load) Count() Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	var c Count
	var parts []string
	for _, problem := range slices.Sorted(maps.Keys(l.failed)) {
		c.Failed += l.failed[problem]
		parts = append(parts, fmt.Sprintf("%d × %s", l.failed[problem], problem))
	}
	c.Gaps = map[string]time.Duration{}
	for _, s := range l.streams {
		c.Gaps[s.name] = max(s.gap, time.Since(s.answered))
		c.Gap, s.gap = max(c.Gap, c.Gaps[s.name]), 0
	}
	c.Asked, c.Slow, c.Retried, c.Words = l.good+c.Failed, l.slow, l.retried, strings.Join(parts, "; ")
	l.good, l.slow, l.retried, l.failed = 0, 0, 0, map[string]int{}
	return c
}
