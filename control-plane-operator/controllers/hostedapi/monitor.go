package hostedapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// checkTimeout is how long one check of a path may take, connection and answer together.
	checkTimeout = 3 * time.Second
	// retryAfter is the pause between checks of a path that does not answer any more.
	retryAfter = 2 * time.Second
	// outageFailures are the checks in a row that fail before a path that answered
	// counts as lost: 20 to 50 seconds. A load balancer that keeps the addresses of
	// clients drops each connection that it sends back to the node of the client, so
	// that on three nodes every third check may fail although nothing is wrong.
	outageFailures = 10
)

// An observation is what the checks of one path have found so far.
type observation struct {
	// checks are all, and failures those in a row up to the last one.
	checks, failures int
	// first is when the path was checked first.
	first time.Time
	// answered is true once the path has answered.
	answered bool
	// problem is why the last check failed, and insideProblem why the same check
	// failed within the management cluster; nil if it did not.
	problem, insideProblem *problem
}

// untrusted says that whoever answered showed a certificate that the cluster's
// authority has not signed.
func (o observation) untrusted() bool {
	return o.problem != nil && o.problem.reason == hyperv1.KubeAPIServerUntrustedReason
}

// A monitor checks paths in the background, each in its own goroutine with new
// connections, and reports when what it finds changes.
type monitor struct {
	// interval is the pause between checks of a path that answers.
	interval time.Duration
	now      func() time.Time
	// changed is called when an observation has changed in a way that matters, with
	// the control plane whose path it is.
	changed func(client.ObjectKey)
	check   func(ctx context.Context, address, serverName string, trust *x509.CertPool) *problem
	// background returns a context of a check: it outlives the reconcile that starts
	// it, and ends with the process.
	background func() (context.Context, context.CancelFunc)

	mu      sync.Mutex
	stop    context.CancelFunc
	hcp     client.ObjectKey // a process works for one control plane
	watched map[path]*watched
	began   bool
}

// watched is one path.
type watched struct {
	stop  context.CancelFunc
	trust []byte
	seen  observation
}

func newMonitor(interval time.Duration, now func() time.Time, changed func(client.ObjectKey)) *monitor {
	m := &monitor{interval: interval, now: now, changed: changed, check: checkPath, watched: map[path]*watched{}}
	process, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.background = func() (context.Context, context.CancelFunc) { return context.WithCancel(process) }
	return m
}

// Start ends all checks with the manager.
func (m *monitor) Start(ctx context.Context) error {
	<-ctx.Done()
	m.stop()
	return nil
}

// watch checks these paths from now on and no others. Of a path that is said to
// have answered before, an outage is believed as of any that has.
func (m *monitor) watch(hcp client.ObjectKey, paths []path, trust []byte, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hcp, m.began = hcp, m.began || len(paths) > 0
	for p, w := range m.watched {
		if !slices.Contains(paths, p) || !slices.Equal(w.trust, trust) {
			w.stop()
		}
		if !slices.Contains(paths, p) {
			delete(m.watched, p)
		}
	}
	for _, p := range paths {
		w := m.watched[p]
		if w != nil && slices.Equal(w.trust, trust) {
			continue
		}
		if w == nil {
			w = &watched{seen: observation{answered: answered}}
			m.watched[p] = w
		}
		var ctx context.Context
		ctx, w.stop = m.background()
		w.trust = trust
		go m.run(ctx, p, w)
	}
}

// started says whether any path has been watched yet.
func (m *monitor) started() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.began
}

func (m *monitor) owner() client.ObjectKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hcp
}

// observed is what is known of a path.
func (m *monitor) observed(p path) observation {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.watched[p]; w != nil {
		return w.seen
	}
	return observation{}
}

func (m *monitor) run(ctx context.Context, p path, w *watched) {
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(w.trust)
	for ctx.Err() == nil {
		found := m.check(ctx, p.address, p.serverName, trust)
		var inside *problem
		if found != nil && p.inside != "" {
			inside = m.check(ctx, p.inside, p.serverName, trust)
		}
		if ctx.Err() != nil {
			return // that is why it failed
		}
		if m.record(w, found, inside) {
			m.changed(m.owner())
		}
		select {
		case <-ctx.Done():
		case <-time.After(m.pause(m.observed(p))):
		}
	}
}

// pause is the time until the next check. A new load balancer is checked often,
// one that the management cluster cannot reach as seldom as one that answers.
func (m *monitor) pause(seen observation) time.Duration {
	switch {
	case seen.problem != nil && seen.answered:
		return retryAfter
	case seen.problem != nil && m.now().Sub(seen.first) < newBalancer:
		return arrivalInterval
	}
	return reconcile.Jitter(m.interval)
}

// record adds a check to an observation and returns whether it may change the verdict.
func (m *monitor) record(w *watched, found, inside *problem) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := w.seen
	s := &w.seen
	if s.checks++; s.checks == 1 {
		s.first = m.now()
	}
	s.problem, s.insideProblem = found, inside
	if found == nil {
		s.failures, s.answered = 0, true
		return before.checks == 0 || before.failures > 0 || !before.answered
	}
	s.failures++
	return before.checks == 0 || s.failures == outageFailures || !same(before.problem, found) || !same(before.insideProblem, inside)
}

func same(a, b *problem) bool { return a == b || a != nil && b != nil && *a == *b }

// checkPath returns why the API server does not answer at an address, or nil. Any
// answer will do, from whoever shows a certificate for the name that the cluster's
// authority has signed: whether the API server is ready is judged by itself.
func checkPath(ctx context.Context, address, serverName string, trust *x509.CertPool) *problem {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	client := &http.Client{
		Transport: &http.Transport{
			Proxy:             http.ProxyFromEnvironment,
			DialContext:       (&net.Dialer{}).DialContext,
			TLSClientConfig:   &tls.Config{RootCAs: trust, ServerName: serverName, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/readyz", nil)
	if err != nil {
		return &problem{unreachable, fmt.Sprintf("%s is no address", address)}
	}
	req.Host = serverName
	resp, err := client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
		return nil
	}
	p := unreached(err, address)
	if errors.Is(err, context.DeadlineExceeded) {
		p.message = fmt.Sprintf("%s does not answer within %s", address, checkTimeout)
	}
	return &p
}
