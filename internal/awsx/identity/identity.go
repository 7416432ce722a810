// Package identity is the only way from a role of a hosted cluster to a client of
// AWS. A session is opened once for each role and keeps its credentials fresh; the
// answers of AWS to its calls show whether AWS accepts the cluster's tokens.
//
//	Target ──► Sessions.For ──► Session.Config ──► awsx.EC2(…), kmskey.NewClient(…), …
//	                               └─► Shared: one manager or cache for all controllers
//
// The package knows no resource: a new one uses it and does not change it.
package identity

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A Target is a role in a region.
type Target struct {
	Region string
	// IssuerURL is the issuer of the tokens, RoleARN the role that trusts them.
	IssuerURL, RoleARN string
	// Subject of the tokens; by default the subject in Options.
	Subject string
	// AssumeRoleARN is a role of another account that RoleARN assumes, for
	// resources in a shared VPC. Empty for RoleARN itself.
	AssumeRoleARN string
}

// Assuming returns the target of a role that t assumes, or t for an empty role.
func (t Target) Assuming(roleARN string) Target {
	t.AssumeRoleARN = roleARN
	return t
}

// A Session holds the credentials of a Target.
type Session struct {
	// Config is for the clients of package awsx.
	Config aws.Config

	mu     sync.Mutex
	shared *lru.Cache
}

// maxShared is how many managers and caches a session keeps. A cluster needs a few.
const maxShared = 40

// Shared returns the session's value of key, and calls open for it the first time. It
// makes all controllers of a cluster share managers, and with them their caches.
// The type of the key belongs to one package, and so does T.
func Shared[T any](s *Session, key any, open func() T) T {
	if cached, ok := s.shared.Get(key); ok {
		return cached.(T) //nolint:forcetypeassert // a key has one type of value
	}
	opened := open() // without the lock: it may share parts of its own
	s.mu.Lock()
	defer s.mu.Unlock()
	if cached, ok := s.shared.Get(key); ok { // another caller was first
		return cached.(T) //nolint:forcetypeassert // a key has one type of value
	}
	s.shared.Add(key, opened)
	return opened
}

// Check calls AWS with the credentials of the session. It needs no permission.
func (s *Session) Check(ctx context.Context) error {
	_, err := awsx.STS(s.Config).GetCallerIdentity(ctx, nil)
	return err
}

// Options configure Sessions.
type Options struct {
	// Name of the sessions in CloudTrail.
	Name string
	// Token returns a fresh token of that issuer for a subject.
	Token func(ctx context.Context, issuerURL, subject string) ([]byte, error)
	// Subject of the tokens, which the trust policy of a role should name.
	Subject string
	// Middleware is added to every client; tests add a fake AWS.
	Middleware []func(*middleware.Stack) error
	Clock      clock.PassiveClock
}

// Sessions opens sessions, and records the last outcome of their calls.
type Sessions struct {
	opts Options

	mu       sync.Mutex // held while a session is opened, which makes no call
	opened   *lru.Cache // *Session by Target
	outcomes *lru.Cache // Outcome by accepted
}

// maxTargets is how many sessions are kept. Users choose the roles. A cluster uses
// up to four: the operator's, two of a shared VPC, and the role of its KMS key; and as
// many again while they are changed.
const maxTargets = 40

// accepted is the part of a Target that AWS accepts or refuses as an identity.
type accepted struct{ issuerURL, roleARN, subject string }

func (s *Sessions) accepted(t Target) accepted {
	return accepted{t.IssuerURL, t.RoleARN, s.subject(t)}
}

func (s *Sessions) subject(t Target) string {
	if t.Subject != "" {
		return t.Subject
	}
	return s.opts.Subject
}

// An Outcome is the result of a call that shows whether AWS accepts an identity.
type Outcome struct {
	At  time.Time
	Err error
}

// New returns Sessions without any session.
func New(opts Options) *Sessions {
	return &Sessions{opts: opts, opened: lru.New(maxTargets), outcomes: lru.New(maxTargets)}
}

// For returns the session of the target. It makes no call: a role that cannot be
// assumed shows at the first call.
func (s *Sessions) For(ctx context.Context, target Target) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session(context.WithoutCancel(ctx), target) // it renews its credentials long after ctx
}

func (s *Sessions) session(ctx context.Context, target Target) (*Session, error) {
	if cached, ok := s.opened.Get(target); ok {
		return cached.(*Session), nil //nolint:forcetypeassert // the cache holds nothing else
	}
	cfg, err := s.config(ctx, target)
	if err != nil {
		return nil, err
	}
	opened := &Session{Config: cfg, shared: lru.New(maxShared)}
	s.opened.Add(target, opened)
	return opened, nil
}

// config of an assumed role takes the credentials of the session that assumes it,
// so that all roles of a cluster share the exchanges of tokens.
func (s *Sessions) config(ctx context.Context, target Target) (aws.Config, error) {
	if target.AssumeRoleARN != "" {
		base, err := s.session(ctx, target.Assuming(""))
		if err != nil {
			return aws.Config{}, err
		}
		return awsx.AssumeRole(base.Config, s.opts.Clock, target.AssumeRoleARN), nil
	}
	return awsx.NewConfig(ctx, awsx.Options{
		Region:      target.Region,
		WebIdentity: s.webIdentity(target),
		Clock:       s.opts.Clock,
		Middleware:  append([]func(*middleware.Stack) error{s.recordOutcomes(target)}, s.opts.Middleware...),
	})
}

// webIdentity uses a subject for which no user of the hosted cluster can mint a
// token, and the service account token for a role that does not trust the first.
func (s *Sessions) webIdentity(target Target) *awsx.WebIdentity {
	token := func(subject string) func(context.Context) ([]byte, error) {
		return func(ctx context.Context) ([]byte, error) { return s.opts.Token(ctx, target.IssuerURL, subject) }
	}
	w := &awsx.WebIdentity{RoleARN: target.RoleARN, SessionName: s.opts.Name, Token: token(s.subject(target))}
	if account := names.ServiceAccountSubject(s.subject(target)); account != "" {
		w.Fallback = token(account)
	}
	return w
}

// TakeRole exchanges a token for credentials of the role and drops them: its error
// shows whether the role trusts the subject.
func (s *Sessions) TakeRole(ctx context.Context, target Target) error {
	token, err := s.opts.Token(ctx, target.IssuerURL, s.subject(target))
	if err != nil {
		return err
	}
	cfg, err := awsx.NewConfig(ctx, awsx.Options{Region: target.Region, Anonymous: true, Middleware: s.opts.Middleware})
	if err != nil {
		return err
	}
	return awsx.TakeRole(ctx, cfg, target.RoleARN, s.opts.Name, token)
}

// Last returns the last outcome for the target's role, of any call.
func (s *Sessions) Last(target Target) (Outcome, bool) {
	o, ok := s.outcomes.Get(s.accepted(target))
	if !ok {
		return Outcome{}, false
	}
	return o.(Outcome), true //nolint:forcetypeassert // the cache holds nothing else
}

// recordOutcomes records from all calls whether AWS accepts the target's identity.
func (s *Sessions) recordOutcomes(target Target) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("identityOutcome",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, md, err := next.HandleInitialize(ctx, in)
				seen := ofOperation(ctx, err)
				retried := awsx.IsProvisional(ctx) && awsx.IsUntrusted(seen)
				if !retried && isConclusive(middleware.GetOperationName(ctx), seen) {
					s.outcomes.Add(s.accepted(target), Outcome{At: s.opts.Clock.Now(), Err: seen})
				}
				return out, md, err
			}), middleware.Before)
	}
}

// ofOperation returns the error as the caller gets it. The SDK adds the service and the operation only after all middleware, and
// awsx needs them: AccessDenied of STS is about the role, and AccessDenied of any other service about a permission.
func ofOperation(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return &smithy.OperationError{ServiceID: middleware.GetServiceID(ctx), OperationName: middleware.GetOperationName(ctx), Err: err}
}

// isConclusive is true for a call that shows whether AWS accepts our tokens: the
// exchange of a token always does, unless it was canceled; any other call does if
// a service has answered it. A role of another account that does not trust ours is
// no fault of our identity.
func isConclusive(operation string, err error) bool {
	switch awsx.Kind(err) {
	case awsx.Canceled:
		return false
	case awsx.Identity, awsx.Throttled, awsx.Transient, awsx.NotAWS:
		return operation == "AssumeRoleWithWebIdentity"
	}
	return true
}
