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
	// checkTimeout is the timeout of one check of a path, for the connection and the response.
	checkTimeout = 3 * time.Second
	// retryAfter is the interval between checks of a path that has stopped responding.
	retryAfter = 2 * time.Second
	// outageFailures is the number of consecutive failures after which a path counts as lost: 20 to 50 seconds. A load
	// balancer that preserves client addresses drops connections that it sends back to the client's node. So with three
	// nodes every third check may fail without a fault.
	outageFailures = 10
)

// An observation is the result of the checks of one path so far.
type observation struct {
	// checks counts all checks, and failures the consecutive failures at the end.
	checks, failures int
	// first is the time of the first check.
	first time.Time
	// answered is true once the path has responded.
	answered bool
	// problem is the error of the last check, and insideProblem the error of the same check within the management
	// cluster. They are nil for a successful check.
	problem, insideProblem *problem
}

// untrusted returns whether the server's certificate is not signed by the cluster's authority.
func (o observation) untrusted() bool {
	return o.problem != nil && o.problem.reason == hyperv1.KubeAPIServerUntrustedReason
}

// A monitor checks paths in the background, each in its own goroutine with new connections, and reports changes.
type monitor struct {
	// interval is the interval between checks of a path that responds.
	interval time.Duration
	now      func() time.Time
	// changed is called with the control plane after a relevant change of an observation.
	changed func(client.ObjectKey)
	check   func(ctx context.Context, address, serverName string, trust *x509.CertPool) *problem
	// background returns the context of a check. It outlives the reconcile that starts the check, and ends with the
	// process.
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

// watch starts checks of these paths and stops the others. answered is true when the paths are known to have responded
// before, so that failures count as an outage.
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

// started returns whether any path has been watched.
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

// observed returns the observation of a path.
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
			return // the check was cancelled
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

// pause returns the interval until the next check. A new load balancer is checked often. A load balancer that the
// management cluster cannot reach is later checked as rarely as a responding load balancer.
func (m *monitor) pause(seen observation) time.Duration {
	switch {
	case seen.problem != nil && seen.answered:
		return retryAfter
	case seen.problem != nil && m.now().Sub(seen.first) < newBalancer:
		return arrivalInterval
	}
	return reconcile.Jitter(m.interval)
}

// record adds a check to an observation and returns whether it may change the condition.
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

// checkPath returns why the API server does not respond at an address, or nil. Any response counts, from any server with
// a certificate for the name that the cluster's authority has signed. The readiness of the API server is a separate
// check.
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
		return &problem{unreachable, fmt.Sprintf("%s is not an address", address)}
	}
	req.Host = serverName
	resp, err := client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
		return nil
	}
	p := connectionProblem(err, address)
	if errors.Is(err, context.DeadlineExceeded) {
		p.message = fmt.Sprintf("%s does not answer within %s", address, checkTimeout)
	}
	return &p
}
