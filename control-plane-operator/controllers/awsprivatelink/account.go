package awsprivatelink

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/awsx/session"
	"github.com/hosted-control-planes/hypershift/internal/awsx/subnet"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// account is what a cluster has in the customer's account, as we last saw it.
// All its AWSEndpointServices share it, so that one look serves them all.
type account struct {
	cleanup   hyperv1.AWSEndpointCleanup
	session   *session.Session
	clock     clock.PassiveClock
	endpoints *endpoint.Manager
	groups    *securitygroup.Manager
	subnets   *subnet.Cache
	zoneCalls sharedcall.Group[string]

	mu      sync.Mutex
	due     time.Time // for a look at everything
	zoneID  string
	given   string // the id that the user named when zoneID was checked
	until   time.Time
	records map[string]*records.Manager // by zone
}

type accounts struct {
	sessions *session.Sessions
	clock    clock.PassiveClock

	mu    sync.Mutex // held while an account is opened, which takes no call
	known *lru.Cache // *account by hyperv1.AWSEndpointCleanup
}

// maxAccounts is how many sets of roles and VPC are remembered. Users write them;
// what was seen in the account of the others is looked at again.
const maxAccounts = 20

func newAccounts(sessions *session.Sessions, clk clock.PassiveClock) *accounts {
	return &accounts{sessions: sessions, clock: clk, known: lru.New(maxAccounts)}
}

func (a *accounts) open(ctx context.Context, c hyperv1.AWSEndpointCleanup) (*account, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.known.Get(c); ok {
		return known.(*account), nil //nolint:forcetypeassert // nothing else is in it
	}
	s, err := a.sessions.For(ctx, session.Target{
		Region: c.Region, IssuerURL: c.IssuerURL, RoleARN: c.RoleARN, EndpointRoleARN: c.EndpointRoleARN, DNSRoleARN: c.DNSRoleARN,
	})
	if err != nil {
		return nil, err
	}
	made := &account{
		cleanup: c, session: s, clock: a.clock,
		endpoints: endpoint.NewManager(s.EC2, a.clock, c.OwnerUID, c.VPC),
		groups:    s.Groups(c.OwnerUID, c.VPC),
		subnets:   subnet.NewCache(s.EC2, a.clock),
		records:   map[string]*records.Manager{},
	}
	a.known.Add(c, made)
	return made, nil
}

// look makes the pass look at AWS where the last look is older than age.
func (a *account) look(age time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lookAt(age)
}

func (a *account) lookAt(age time.Duration) {
	a.endpoints.Look(age)
	a.groups.Look(age)
	for _, k := range a.records {
		k.Look(age)
	}
}

// resync makes the first pass after each period look at AWS. The others of the
// cluster come at the same time and share what it sees.
func (a *account) resync(period time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.clock.Now(); !now.Before(a.due) {
		a.lookAt(0)
		a.due = now.Add(period)
	}
}

// untilResync is how long nobody needs to come.
func (a *account) untilResync() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.due.Sub(a.clock.Now()), time.Second)
}

// zone returns the id of the hosted zone of the cluster's records: the given
// one, if it can serve, or the one that the VPC resolves.
func (a *account) zone(ctx context.Context, given string) (string, error) {
	if id, ok := a.knownZone(given); ok {
		return id, nil
	}
	return a.zoneCalls.Do(ctx, given, func(ctx context.Context) (string, error) { return a.findZone(ctx, given) })
}

func (a *account) knownZone(given string) (id string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.zoneID, a.zoneID != "" && a.given == given && a.clock.Now().Before(a.until)
}

func (a *account) findZone(ctx context.Context, given string) (string, error) {
	if id, ok := a.knownZone(given); ok { // since a moment ago
		return id, nil
	}
	where := records.Where{Zone: names.LocalZone(a.cleanup.HostedControlPlane), VPC: a.cleanup.VPC, Region: a.cleanup.Region}
	find := records.Find
	if given != "" {
		find = func(ctx context.Context, api records.API, w records.Where) (string, error) {
			return records.Given(ctx, api, given, w)
		}
	}
	id, err := find(ctx, a.session.Route53, where)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.zoneID, a.given, a.until = id, given, a.clock.Now().Add(zoneTTL)
	return id, nil
}

// forgetZone makes the next pass find the zone anew.
func (a *account) forgetZone() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.zoneID = ""
}

// recordsIn returns the keeper of our records in a zone.
func (a *account) recordsIn(zoneID string) *records.Manager {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.records[zoneID] == nil {
		a.records[zoneID] = records.NewManager(a.session.Route53, a.clock, zoneID)
	}
	return a.records[zoneID]
}

// openAccount takes on the roles of the cluster.
func (r *Reconciler) openAccount(ctx context.Context, s *scope) (err error) {
	if err := r.keyReady(ctx); err != nil {
		return err
	}
	s.account, err = r.accounts.open(ctx, *s.cleanup)
	if err != nil {
		return err
	}
	s.account.resync(r.ResyncPeriod)
	return nil
}

// openAccountOfRecord takes on the roles that were recorded when the first
// thing was made. Without a record nothing was.
func (r *Reconciler) openAccountOfRecord(ctx context.Context, s *scope) (err error) {
	s.cleanup = s.es.Status.Cleanup
	if s.cleanup == nil {
		return nil
	}
	if err := r.keyReady(ctx); err != nil {
		return err
	}
	s.account, err = r.accounts.open(ctx, *s.cleanup)
	if err != nil {
		return err
	}
	s.account.look(deletionTrust)
	return nil
}

func (r *Reconciler) keyReady(ctx context.Context) error {
	err := r.KeyReady(ctx)
	if errors.Is(err, tokensigner.ErrNoKey) {
		return reconcile.Wait(10*time.Second, hyperv1.WaitingForSigningKeyReason, "%s", err)
	}
	return err
}
