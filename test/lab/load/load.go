// Package load sends a steady stream of requests to an API server and counts the failures. Half of the requests use one
// connection that is kept, half open a new connection each, because clients of both kinds exist.
package load

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	// retries is how often a request is repeated when the server answers 429 with Retry-After, like client-go's
	// rest.Request. An API server that shuts down answers so (--shutdown-send-retry-after).
	retries = 10
)

// A Load is a stream of requests.
type Load struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	good    int
	slow    int
	retried int
	failed  map[string]int // by the error
}

// A Count is the result of a stream of requests.
type Count struct {
	// Asked is the number of requests, Failed those without a good answer, Slow those with one after more than 5 seconds, and
	// Retried those that were repeated because the server asked for it.
	Asked, Failed, Slow, Retried int
	// Words lists the errors and how often each occurred.
	Words string
}

// Percent is the share of requests that failed.
func (c Count) Percent() float64 { return 100 * float64(c.Failed) / float64(max(c.Asked, 1)) }

func (c Count) String() string {
	text := fmt.Sprintf("%d requests, %d failed (%.2f %%) %s", c.Asked, c.Failed, c.Percent(), c.Words)
	if c.Slow > 0 {
		text += fmt.Sprintf(" (%d took more than %v)", c.Slow, slow)
	}
	if c.Retried > 0 {
		text += fmt.Sprintf(" (%d repeated after 429 with Retry-After)", c.Retried)
	}
	return strings.TrimSpace(text)
}

// Start begins to send requests with the user of the kubeconfig, until Stop.
func Start(ctx context.Context, kubeconfig string) (*Load, error) {
	return StartAt(ctx, kubeconfig, path)
}

// StartAt does so for another path.
func StartAt(ctx context.Context, kubeconfig, path string) (*Load, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("sending requests to an API server: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	l := &Load{stop: stop, failed: map[string]int{}}
	for _, stays := range []bool{true, false} {
		tls, err := rest.TLSConfigFor(config)
		if err != nil {
			stop()
			return nil, fmt.Errorf("sending requests to an API server: %w", err)
		}
		c := &http.Client{Timeout: timeout, Transport: &http.Transport{TLSClientConfig: tls, DisableKeepAlives: !stays, ForceAttemptHTTP2: stays}}
		l.done.Go(func() { l.run(ctx, c, config.Host+path) })
	}
	return l, nil
}

// Stop ends the stream and waits for it.
func (l *Load) Stop() {
	l.stop()
	l.done.Wait()
}

func (l *Load) run(ctx context.Context, c *http.Client, url string) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := time.Now()
		problem, retried := get(ctx, c, url)
		if ctx.Err() != nil {
			return // the request was canceled by Stop
		}
		l.mu.Lock()
		l.retried += retried
		if problem == "" {
			l.good++
			if time.Since(began) > slow && retried == 0 {
				l.slow++
			}
		} else {
			l.failed[problem]++
		}
		l.mu.Unlock()
	}
}

// get sends one request, repeated as long as the server answers 429 with Retry-After. It returns the error in a form that
// many failures share, empty if there is none, and the number of repetitions.
func get(ctx context.Context, c *http.Client, url string) (problem string, retried int) {
	for ; ; retried++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err.Error(), retried
		}
		resp, err := c.Do(req)
		if err != nil {
			text := err.Error()
			return strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:]), retried
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return "", retried
		}
		after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if resp.StatusCode != http.StatusTooManyRequests || err != nil || retried == retries {
			return resp.Status, retried
		}
		select {
		case <-ctx.Done():
			return resp.Status, retried
		case <-time.After(time.Duration(after) * time.Second):
		}
	}
}

// Asked is the number of requests since the last call of Count.
func (l *Load) Asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := l.good
	for _, n := range l.failed {
		asked += n
	}
	return asked
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
	c.Asked, c.Slow, c.Retried, c.Words = l.good+c.Failed, l.slow, l.retried, strings.Join(parts, "; ")
	l.good, l.slow, l.retried, l.failed = 0, 0, 0, map[string]int{}
	return c
}
