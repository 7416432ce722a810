package awsprivatelink

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/awsx/subnet"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
)

// account holds the caches of a cluster's AWS resources in the customer's account. All
// AWSEndpointServices of the cluster share it, so that one list serves them all.
type account struct {
	cleanup hyperv1.AWSEndpointCleanup
	clock   clock.PassiveClock
	session *identity.Session // for everything but the records
	subnets *subnet.Cache
	route53 records.API
	zones   *cache.Keyed[string, string] // id of the hosted zone, by the id that the user named

	mu      sync.Mutex
	listed  time.Time // when everything was listed last
	lists   map[list]bool
	records map[string]*records.Manager // by zone
}

// A list is a Manager's cached list of AWS resources.
type list interface{ Invalidate(age time.Duration) }

// maxZones is more than the hosted zones of a cluster: the zone that its VPC resolves, or the zone that the user names.
const maxZones = 10

// open returns the account of the recorded roles and VPC. It makes no call.
func (r *Reconciler) open(ctx context.Context, c hyperv1.AWSEndpointCleanup) (*account, error) {
	role := identity.Target{Region: c.Region, IssuerURL: c.IssuerURL, RoleARN: c.RoleARN}
	session, err := r.Sessions.For(ctx, role.Assuming(c.EndpointRoleARN))
	if err != nil {
		return nil, err
	}
	forRecords, err := r.Sessions.For(ctx, role.Assuming(c.DNSRoleARN))
	if err != nil {
		return nil, err
	}
	return identity.Shared(session, c, func() *account {
		return &account{
			cleanup: c, clock: r.Clock, session: session,
			subnets: subnet.NewCache(awsx.EC2(session.Config), r.Clock),
			route53: records.NewClient(forRecords.Config),
			zones:   cache.NewKeyed[string, string](r.Clock, maxZones),
			lists:   map[list]bool{},
			records: map[string]*records.Manager{},
		}
	}), nil
}

// open returns the Manager of a resource in the cluster's VPC, and lists it with the others at each resync.
func open[M list](a *account, shared func(*identity.Session, clock.PassiveClock, string, string) M) M {
	m := shared(a.session, a.clock, a.cleanup.OwnerUID, a.cleanup.VPC)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists[m] = true
	return m
}

// invalidate makes the next use repeat the lists from AWS that are older than age.
func (a *account) invalidate(age time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.invalidateLocked(age)
}

func (a *account) invalidateLocked(age time.Duration) {
	for l := range a.lists {
		l.Invalidate(age)
	}
}

// resync makes the first reconcile after each period list from AWS. The other
// objects of the cluster reconcile at the same time and share the lists.
func (a *account) resync(period time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.clock.Now(); !now.Before(a.listed.Add(period)) {
		a.invalidateLocked(0)
		a.listed = now
	}
}

// untilResync is the time until the next resync.
func (a *account) untilResync(period time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.listed.Add(period).Sub(a.clock.Now()), time.Second)
}

// zone returns the id of the hosted zone of the cluster's records: the given zone, if it can serve, or the zone that the VPC resolves.
func (a *account) zone(ctx context.Context, given string) (string, error) {
	return a.zones.Get(ctx, given, func(ctx context.Context) (string, time.Duration, error) {
		where := records.Where{Zone: names.LocalZone(a.cleanup.HostedControlPlane), VPC: a.cleanup.VPC, Region: a.cleanup.Region}
		if given != "" {
			id, err := records.Given(ctx, a.route53, given, where)
			return id, awsx.HostedZoneTTL, err
		}
		id, err := records.Find(ctx, a.route53, where)
		return id, awsx.HostedZoneTTL, err
	})
}

// recordsIn returns the manager of our records in a zone.
func (a *account) recordsIn(zoneID string) *records.Manager {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.records[zoneID] == nil {
		a.records[zoneID] = records.NewManager(a.route53, a.clock, zoneID)
		a.lists[a.records[zoneID]] = true
	}
	return a.records[zoneID]
}

// openAccount opens the sessions of the recorded roles.
func (r *Reconciler) openAccount(ctx context.Context, s *scope) (err error) {
	s.cleanup = s.es.Status.Cleanup
	if err := tokensigner.Await(ctx, r.KeyReady); err != nil {
		return err
	}
	s.account, err = r.open(ctx, *s.cleanup)
	switch {
	case err != nil:
		return err
	case s.deleting():
		s.account.invalidate(awsx.DeletionListTTL)
	default:
		s.account.resync(r.resyncPeriod(s.hcp))
	}
	return nil
}
