package hostedapi

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

var (
	public  = path{name: "Service router", address: "public:443", serverName: "api", inside: "10.57.0.1:443"}
	private = path{name: "Service private-router", address: "private:443", serverName: "api.local", inside: "10.57.0.2:443", limited: true}
)

func TestReachableCondition(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	refused := &problem{hyperv1.KubeAPIServerUnreachableReason, "public:443 refuses connections"}
	silent := &problem{hyperv1.KubeAPIServerUnreachableReason, "private:443 does not answer within 3s"}
	fine := observation{checks: 3, first: now, answered: true}
	condition := func(status metav1.ConditionStatus, reason string) *metav1.Condition {
		return &metav1.Condition{Status: status, Reason: reason, Message: "as before"}
	}
	isTrue, isFalse, unknown := metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	reachable, never := condition(isTrue, hyperv1.AsExpectedReason), condition(isFalse, hyperv1.WaitingForFirstAnswerReason)
	for name, c := range map[string]struct {
		previous    *metav1.Condition
		initialized bool
		seen        map[path]observation
		status      metav1.ConditionStatus
		reason      string
		words       string
	}{
		"every path answers":                            {seen: map[path]observation{public: fine, private: fine}, status: isTrue, reason: hyperv1.AsExpectedReason},
		"a new cluster without a path is not reachable": {status: isFalse, reason: hyperv1.WaitingForFirstAnswerReason, words: "no load balancer or host name yet"},
		"nor is one whose load balancer has not answered": {
			previous: never, seen: map[path]observation{public: {checks: 2, failures: 2, first: now, problem: refused}},
			status: isFalse, reason: hyperv1.WaitingForFirstAnswerReason, words: "Service router: public:443 refuses connections; within the management cluster it answers",
		},
		"nor one of which a single path answers": {
			previous: never, seen: map[path]observation{public: {checks: 2, failures: 2, first: now, problem: refused}, private: fine},
			status: isFalse, reason: hyperv1.WaitingForFirstAnswerReason, words: "Service router",
		},
		"a cluster of before the first check stays available": {
			initialized: true, seen: map[path]observation{public: {}}, status: unknown, reason: hyperv1.WaitingForFirstAnswerReason, words: "waiting for the first check",
		},
		"after a restart of the operator nothing changes before the first check": {
			previous: reachable, seen: map[path]observation{public: {}}, status: isTrue, reason: hyperv1.AsExpectedReason, words: "as before",
		},
		"an outage of before a restart stays, too": {
			previous: condition(isFalse, hyperv1.KubeAPIServerUnreachableReason), seen: map[path]observation{public: {}}, status: isFalse, reason: hyperv1.KubeAPIServerUnreachableReason, words: "as before",
		},
		"some checks that fail are no outage": {
			previous: reachable, seen: map[path]observation{public: {checks: 20, failures: outageFailures - 1, first: now, answered: true, problem: refused}}, status: isTrue, reason: hyperv1.AsExpectedReason,
		},
		"a load balancer that is lost is an outage": {
			previous: reachable, seen: map[path]observation{public: {checks: 20, failures: outageFailures, first: now, answered: true, problem: refused}, private: fine},
			status: isFalse, reason: hyperv1.KubeAPIServerUnreachableReason, words: "Service router: public:443 refuses connections; within the management cluster it answers",
		},
		"the message tells it from an API server that is lost": {
			previous: reachable, seen: map[path]observation{public: {checks: 20, failures: outageFailures, first: now, answered: true, problem: refused, insideProblem: silent}},
			status: isFalse, reason: hyperv1.KubeAPIServerUnreachableReason, words: "within the management cluster: private:443 does not answer",
		},
		"a private load balancer may be out of reach": {
			previous: never, seen: map[path]observation{public: fine, private: {checks: 1, failures: 1, first: now, problem: silent}},
			status: unknown, reason: hyperv1.CheckedInsideOnlyReason, words: "Service private-router: private:443 does not answer within 3s, but the API server answers at 10.57.0.2:443",
		},
		"but not an API server behind it": {
			previous: never, seen: map[path]observation{private: {checks: 1, failures: 1, first: now, problem: silent, insideProblem: silent}},
			status: isFalse, reason: hyperv1.WaitingForFirstAnswerReason,
		},
		"a public one is waited for": {
			previous: never, seen: map[path]observation{public: {checks: 99, failures: 99, first: now.Add(-newBalancer + time.Second), problem: refused}},
			status: isFalse, reason: hyperv1.WaitingForFirstAnswerReason,
		},
		"and not for ever": {
			previous: never, seen: map[path]observation{public: {checks: 99, failures: 99, first: now.Add(-newBalancer), problem: refused}},
			status: unknown, reason: hyperv1.CheckedInsideOnlyReason,
		},
		"a path that is added makes a cluster that serves no worse": {
			previous: reachable, seen: map[path]observation{private: fine, public: {checks: 99, failures: 99, first: now, problem: refused}},
			status: unknown, reason: hyperv1.WaitingForFirstAnswerReason,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []path
			for _, p := range []path{private, public} {
				if _, there := c.seen[p]; there {
					paths = append(paths, p)
				}
			}
			hcp := &hyperv1.HostedControlPlane{Status: hyperv1.HostedControlPlaneStatus{Initialized: c.initialized}}
			got := reachableCondition(hcp, c.previous, paths, func(p path) observation { return c.seen[p] }, now)
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.words) {
				t.Errorf("got %s %s: %s\nwant %s %s: %s", got.Status, got.Reason, got.Message, c.status, c.reason, c.words)
			}
		})
	}
}

// lb is a load balancer for an API server. Both can be stopped.
func lb(t *testing.T) (server *httptest.Server, trust *x509.CertPool, pemTrust []byte) {
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(server.Close)
	trust = x509.NewCertPool()
	trust.AddCert(server.Certificate())
	return server, trust, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestCheckPath(t *testing.T) {
	server, trust, _ := lb(t)
	address := server.Listener.Addr().String()
	hold, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never responds
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hold.Close() })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, c := range map[string]struct {
		address, serverName string
		trust               *x509.CertPool
		reason, words       string
	}{
		"any answer of the API server will do": {address, "example.com", trust, "", ""},
		"not that of another authority":        {address, "example.com", x509.NewCertPool(), hyperv1.KubeAPIServerUntrustedReason, "is not signed by the authority"},
		"not one for another name":             {address, "api.demo.hypershift.local", trust, hyperv1.KubeAPIServerUntrustedReason, "is issued for other names"},
		"nobody listens":                       {closed.Addr().String(), "example.com", trust, hyperv1.KubeAPIServerUnreachableReason, "refuses connections"},
		"it accepts and never answers":         {hold.Addr().String(), "example.com", trust, hyperv1.KubeAPIServerUnreachableReason, "does not answer within 3s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := checkPath(context.WithoutCancel(t.Context()), c.address, c.serverName, c.trust)
			if (got == nil) != (c.reason == "") || got != nil && (got.reason != c.reason || !strings.Contains(got.message, c.words)) {
				t.Errorf("got %+v, want %s %s", got, c.reason, c.words)
			}
		})
	}
}

// script is a check with a result that the test sets.
type script struct {
	mu     sync.Mutex
	result map[string]*problem
	asked  map[string]int
}

func (s *script) check(_ context.Context, address, _ string, _ *x509.CertPool) *problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[address]++
	return s.result[address]
}

func TestMonitorTriggersAReconcileWhenTheResultChanges(t *testing.T) {
	woken := make(chan client.ObjectKey, 100)
	m := newMonitor(time.Millisecond, time.Now, func(k client.ObjectKey) { woken <- k })
	s := &script{result: map[string]*problem{}, asked: map[string]int{}}
	m.check = s.check
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	key := client.ObjectKey{Namespace: namespace, Name: "demo"}
	m.watch(key, []path{public}, []byte("a"), false)
	if got := <-woken; got != key {
		t.Errorf("woke %s", got)
	}
	if seen := m.observed(public); !seen.answered || seen.problem != nil {
		t.Errorf("%+v", seen)
	}
	s.mu.Lock()
	s.result[public.address] = &problem{hyperv1.KubeAPIServerUnreachableReason, "gone"}
	s.mu.Unlock()
	<-woken
	if seen := m.observed(public); !seen.answered || seen.failures != 1 || seen.insideProblem != nil {
		t.Errorf("%+v", seen)
	}
	s.mu.Lock()
	if s.asked[public.inside] == 0 {
		t.Error("it was not asked within the management cluster")
	}
	s.mu.Unlock()
	m.watch(key, []path{private}, []byte("a"), false)
	<-woken
	if seen := m.observed(public); seen.checks != 0 {
		t.Errorf("a path that is gone has %+v", seen)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestIntervalOfPathChecks(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := newMonitor(30*time.Second, func() time.Time { return now }, nil)
	gone := &problem{hyperv1.KubeAPIServerUnreachableReason, "gone"}
	for name, c := range map[string]struct {
		seen        observation
		least, most time.Duration
	}{
		"a path that answers":                     {observation{answered: true, first: now}, 30 * time.Second, 36 * time.Second},
		"one that does not any more":              {observation{answered: true, first: now.Add(-time.Hour), problem: gone}, retryAfter, retryAfter},
		"a new load balancer":                     {observation{first: now, problem: gone}, arrivalInterval, arrivalInterval},
		"one that has been out of reach for long": {observation{first: now.Add(-newBalancer), problem: gone}, 30 * time.Second, 36 * time.Second},
	} {
		if got := m.pause(c.seen); got < c.least || got > c.most {
			t.Errorf("%s: next check after %s, want %s to %s", name, got, c.least, c.most)
		}
	}
}

func TestMonitorTriggersNothingWhileTheResultIsUnchanged(t *testing.T) {
	m := newMonitor(time.Hour, time.Now, nil)
	w := &watched{}
	gone := &problem{hyperv1.KubeAPIServerUnreachableReason, "gone"}
	var got []string
	for i, found := range []*problem{nil, nil, gone, {gone.reason, gone.message}, nil, nil} {
		if m.record(w, found, nil) {
			got = append(got, fmt.Sprint(i))
		}
	}
	if want := "0 2 4"; strings.Join(got, " ") != want {
		t.Errorf("wakes after checks %v, want %s", got, want)
	}
	for i := range outageFailures + 5 {
		if woke := m.record(w, gone, nil); woke != (i == 0 || i == outageFailures-1) {
			t.Errorf("failure %d: woken %v", i+1, woke)
		}
	}
}
