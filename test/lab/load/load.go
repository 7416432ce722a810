// Package load asks an API server the same question all the time, half of it over a connection that stays and half over a new one
// each time, as clients of both kinds do, and counts what goes wrong.
package load

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// every is how often each of the two askers asks.
	every = 50 * time.Millisecond
	// slow is when an answer is as bad as none.
	slow = 5 * time.Second
	// path is something that is read from etcd.
	path = "/api/v1/namespaces/default"
)

// A Load is a stream of requests.
type Load struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	good   int
	failed map[string]int // by what went wrong
}

// A Count is how requests went.
type Count struct {
	Asked, Failed int
	// Words say what went wrong, and how often.
	Words string
}

// Percent is the share of requests that failed.
func (c Count) Percent() float64 { return 100 * float64(c.Failed) / float64(max(c.Asked, 1)) }

func (c Count) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d requests, %d failed (%.2f %%) %s", c.Asked, c.Failed, c.Percent(), c.Words))
}

// Start begins to ask, as whom the kubeconfig says, until Stop.
func Start(ctx context.Context, kubeconfig string) (*Load, error) {
	return StartAt(ctx, kubeconfig, path)
}

// StartAt does so at another path.
func StartAt(ctx context.Context, kubeconfig, path string) (*Load, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("asking an API server: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	l := &Load{stop: stop, failed: map[string]int{}}
	for _, stays := range []bool{true, false} {
		tls, err := rest.TLSConfigFor(config)
		if err != nil {
			stop()
			return nil, fmt.Errorf("asking an API server: %w", err)
		}
		c := &http.Client{Timeout: slow, Transport: &http.Transport{TLSClientConfig: tls, DisableKeepAlives: !stays, ForceAttemptHTTP2: stays}}
		l.done.Go(func() { l.run(ctx, c, config.Host+path) })
	}
	return l, nil
}

// Stop ends it.
func (l *Load) Stop() {
	l.stop()
	l.done.Wait()
}

func (l *Load) run(ctx context.Context, c *http.Client, url string) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		problem := ask(ctx, c, url)
		if ctx.Err() != nil {
			return // we hung up ourselves
		}
		l.mu.Lock()
		if problem == "" {
			l.good++
		} else {
			l.failed[problem]++
		}
		l.mu.Unlock()
	}
}

// ask asks once and says what went wrong, in words that many failures share.
func ask(ctx context.Context, c *http.Client, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := c.Do(req)
	if err != nil {
		text := err.Error()
		return strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:])
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.Status
	}
	return ""
}

// Asked is how many requests the next Count will have, at least.
func (l *Load) Asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := l.good
	for _, n := range l.failed {
		asked += n
	}
	return asked
}

// Count is how requests went since the last call.
func (l *Load) Count() Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	var c Count
	var parts []string
	for _, problem := range slices.Sorted(maps.Keys(l.failed)) {
		c.Failed += l.failed[problem]
		parts = append(parts, fmt.Sprintf("%d × %s", l.failed[problem], problem))
	}
	c.Asked, c.Words = l.good+c.Failed, strings.Join(parts, "; ")
	l.good, l.failed = 0, map[string]int{}
	return c
}
