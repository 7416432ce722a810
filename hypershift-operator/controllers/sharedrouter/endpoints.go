package sharedrouter

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// findEndpoints gives each cluster the endpoint that its control-plane-operator reports. The cluster that has an endpoint keeps it until it
// reports another one: a report that is missing for a moment gives it to no other cluster. A new endpoint must be connected, belong to an account
// of the roles of the cluster, and to no other cluster.
func (r *Reconciler) findEndpoints(ctx context.Context, s *scope) error {
	taken := map[string]bool{}
	var open []*cluster
	for i := range s.clusters {
		c := &s.clusters[i]
		for id, namespace := range s.previous {
			if namespace == c.Namespace && (c.claimed == "" || c.claimed == id) {
				c.Endpoints, taken[id] = append(c.Endpoints, id), true
			}
		}
		if c.claimed != "" && !taken[c.claimed] && c.API.IsValid() {
			open = append(open, c)
		}
	}
	open = slices.DeleteFunc(open, func(c *cluster) bool {
		wait := r.attempts.until(c.Namespace)
		if wait > 0 {
			s.awaits(wait)
		}
		return wait > 0
	})
	if len(open) == 0 {
		return nil
	}
	accounts, err := r.connectedAccounts(ctx)
	if err != nil {
		// The clusters that have their endpoints need no answer of AWS.
		ctrl.LoggerFrom(ctx).Error(err, "Reading the connections of the shared endpoint service")
	}
	for _, c := range open {
		if taken[c.claimed] || !slices.Contains(accountsOf(c.hc), accounts[c.claimed]) {
			s.awaits(r.attempts.failed(c.Namespace))
			continue
		}
		c.Endpoints, taken[c.claimed] = []string{c.claimed}, true
	}
	return nil
}

// connectedAccounts returns the account of each endpoint that is connected to the shared endpoint service.
func (r *Reconciler) connectedAccounts(ctx context.Context) (map[string]string, error) {
	installation, err := sharedrouter.Installation(ctx, r.Reader, r.Namespace)
	if err != nil {
		return nil, err
	}
	connections, err := r.Connections.Connections(ctx, endpointservice.Owner{UID: installation, Role: sharedrouter.EndpointServiceRole})
	accounts := map[string]string{}
	for _, c := range connections {
		accounts[c.Endpoint] = c.Account
	}
	return accounts, err
}

// accountsOf returns the accounts in which endpoints of a cluster can be: of its control-plane-operator, or of a shared VPC.
func accountsOf(hc *hyperv1.HostedCluster) []string {
	p := hc.Spec.Platform.AWS
	if p == nil {
		return nil
	}
	accounts := []string{accountOf(string(p.RolesRef.ControlPlaneOperatorARN))}
	if p.SharedVPC != nil {
		accounts = append(accounts, accountOf(string(p.SharedVPC.RolesRef.ControlPlaneARN)))
	}
	return slices.DeleteFunc(accounts, func(account string) bool { return account == "" })
}

// accountOf returns the account in an ARN: arn:aws:iam::<account>:role/<name>.
func accountOf(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}

const (
	firstAttempt = 2 * time.Second
	lastAttempt  = 5 * time.Minute
)

// attempts delay the next question about an endpoint that AWS does not list for its cluster. A tenant chooses the id, and all questions are calls
// of one account.
type attempts struct {
	clock clock.PassiveClock
	next  map[string]attempt // by namespace
}

type attempt struct {
	at    time.Time
	delay time.Duration
}

func newAttempts(clk clock.PassiveClock) *attempts {
	return &attempts{clock: clk, next: map[string]attempt{}}
}

// until returns the time until the next question about a cluster, whatever endpoint it reports.
func (a *attempts) until(namespace string) time.Duration {
	return max(a.next[namespace].at.Sub(a.clock.Now()), 0)
}

// failed notes a question without success, and returns the time until the next one.
func (a *attempts) failed(namespace string) time.Duration {
	now := a.clock.Now()
	before := a.next[namespace]
	delay := firstAttempt
	if now.Sub(before.at) < lastAttempt { // else it was another failure
		delay = min(max(2*before.delay, firstAttempt), lastAttempt)
	}
	a.next[namespace] = attempt{at: now.Add(delay), delay: delay}
	return delay
}
