// Package session keeps the sessions that a hosted cluster has with AWS: one
// for each set of roles, made once, with credentials that renew themselves.
// What AWS says to the calls of a session tells whether it knows us at all.
package session

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/awsx/subnet"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A Target says as whom to call which region.
type Target struct {
	Region string
	// IssuerURL is the issuer of the tokens by which AWS knows us, RoleARN the
	// role that trusts them.
	IssuerURL, RoleARN string
	// EndpointRoleARN and DNSRoleARN are roles of a third account that we take
	// on from there, when VPC and zone are shared. Empty for the role itself.
	EndpointRoleARN, DNSRoleARN string
}

// EC2 is what our resource packages need of EC2.
type EC2 interface {
	subnet.API
	securitygroup.API
	endpoint.API
}

// A Session is a Target's clients, and what they have seen.
type Session struct {
	EC2     EC2
	Route53 records.API
	whoAmI  func(context.Context) error
	clock   clock.PassiveClock

	mu     sync.Mutex
	groups map[place]*securitygroup.Manager
}

// place is where an owner has resources.
type place struct{ owner, vpc string }

// Groups is the keeper of an owner's security groups in a VPC. Everybody gets
// the same one, so that one look serves them all.
func (s *Session) Groups(owner, vpc string) *securitygroup.Manager {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := place{owner, vpc}
	if s.groups[at] == nil {
		s.groups[at] = securitygroup.NewManager(s.EC2, s.clock, owner, vpc)
	}
	return s.groups[at]
}

// Options say how to make sessions.
type Options struct {
	// Name shows in CloudTrail as who made a call.
	Name string
	// Token returns a fresh token of that issuer for a subject.
	Token func(ctx context.Context, issuerURL, subject string) ([]byte, error)
	// Subject is what the trust policy of a role should name.
	Subject string
	// Middleware is added to every client; tests put a fake AWS there.
	Middleware []func(*middleware.Stack) error
	Clock      clock.PassiveClock
}

// Sessions makes sessions and remembers what AWS said last.
type Sessions struct {
	opts Options

	mu     sync.Mutex // held while a session is made, which takes no call
	byRole *lru.Cache // *Session by Target
	last   *lru.Cache // Outcome by identity
}

// maxTargets is how many roles have a session. Users write them; a cluster uses
// one set of them, and a second one while they are changed.
const maxTargets = 20

// identity is the part of a Target that AWS has to believe.
type identity struct{ IssuerURL, RoleARN string }

// An Outcome is what AWS said, and when.
type Outcome struct {
	At  time.Time
	Err error
}

// New returns Sessions without any session.
func New(opts Options) *Sessions {
	return &Sessions{opts: opts, byRole: lru.New(maxTargets), last: lru.New(maxTargets)}
}

// For returns the session of the target. It makes no call: a role that cannot
// be assumed shows at the first call.
func (s *Sessions) For(ctx context.Context, target Target) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.byRole.Get(target); ok {
		return known.(*Session), nil //nolint:forcetypeassert // nothing else is in it
	}
	made, err := s.open(context.WithoutCancel(ctx), target) // it renews its credentials long after ctx
	if err != nil {
		return nil, err
	}
	s.byRole.Add(target, made)
	return made, nil
}

func (s *Sessions) open(ctx context.Context, target Target) (*Session, error) {
	opts := awsx.Options{
		Region:      target.Region,
		WebIdentity: s.webIdentity(target),
		Middleware:  append([]func(*middleware.Stack) error{s.listen(target)}, s.opts.Middleware...),
	}
	self, err := awsx.NewConfig(ctx, opts)
	if err != nil {
		return nil, err
	}
	forEndpoints, err := as(ctx, self, opts, target.EndpointRoleARN)
	if err != nil {
		return nil, err
	}
	forRecords, err := as(ctx, self, opts, target.DNSRoleARN)
	if err != nil {
		return nil, err
	}
	sts := awsx.STS(self)
	return &Session{
		EC2: awsx.EC2(forEndpoints), Route53: awsx.Route53(forRecords), clock: s.opts.Clock, groups: map[place]*securitygroup.Manager{},
		whoAmI: func(ctx context.Context) error {
			_, err := sts.GetCallerIdentity(ctx, nil)
			return err
		},
	}, nil
}

// webIdentity presents the subject that nobody in the hosted cluster can mint,
// and that of the service account to a role which does not trust the first.
func (s *Sessions) webIdentity(target Target) *awsx.WebIdentity {
	w := &awsx.WebIdentity{RoleARN: target.RoleARN, SessionName: s.opts.Name, Token: func(ctx context.Context) ([]byte, error) {
		return s.opts.Token(ctx, target.IssuerURL, s.opts.Subject)
	}}
	if account := names.ServiceAccountSubject(s.opts.Subject); account != "" {
		w.Fallback = func(ctx context.Context) ([]byte, error) { return s.opts.Token(ctx, target.IssuerURL, account) }
	}
	return w
}

// as is the session of one more role, or self if there is none: who shares a
// session shares its credentials, and so the calls that renew them.
func as(ctx context.Context, self aws.Config, opts awsx.Options, role string) (aws.Config, error) {
	if role == "" {
		return self, nil
	}
	opts.AssumeRoleARN = role
	return awsx.NewConfig(ctx, opts)
}

// Check asks AWS who we are. It needs no permission.
func (s *Session) Check(ctx context.Context) error { return s.whoAmI(ctx) }

// Last returns what AWS said last to a call of the target's role.
func (s *Sessions) Last(target Target) (Outcome, bool) {
	o, ok := s.last.Get(identity{target.IssuerURL, target.RoleARN})
	if !ok {
		return Outcome{}, false
	}
	return o.(Outcome), true //nolint:forcetypeassert // nothing else is in it
}

// listen remembers what calls tell about our identity, whoever makes them.
func (s *Sessions) listen(target Target) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("identityOutcome",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, md, err := next.HandleInitialize(ctx, in)
				denied := awsx.IsProvisional(ctx) && awsx.IsUntrusted(err)
				if !denied && tells(middleware.GetOperationName(ctx), err) {
					s.last.Add(identity{target.IssuerURL, target.RoleARN}, Outcome{At: s.opts.Clock.Now(), Err: err})
				}
				return out, md, err
			}), middleware.Before)
	}
}

// tells says whether the outcome of a call tells if AWS believes our tokens:
// the exchange of a token always does, unless we gave up waiting; any other
// call does when it was answered by somebody who knew us. A role of a third
// account that does not trust ours is no fault of our identity.
func tells(operation string, err error) bool {
	switch awsx.Kind(err) {
	case awsx.Canceled:
		return false
	case awsx.Identity, awsx.Throttled, awsx.Transient, awsx.NotAWS:
		return operation == "AssumeRoleWithWebIdentity"
	}
	return true
}
