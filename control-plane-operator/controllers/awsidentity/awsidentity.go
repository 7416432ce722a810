// Package awsidentity checks whether AWS accepts the tokens of the cluster, and reports
// that in the condition ValidAWSIdentityProvider. It also checks whether the roles of
// the cluster's operators accept only tokens that no user of the hosted cluster can get
// issued, and reports that in AWSRolesIsolated (isolation.go).
//
//	the last answer of AWS to a call of any controller ── younger than the interval ──► classify it
//	             ├── none, and another controller is about to call ──► wait for its call, up to a minute
//	             └── older, or none ──► GetCallerIdentity ──► classify the answer
//
//	True     AWS knows the role, even if it denied the call
//	False    AWS does not accept the token or the role
//	Unknown  there was no answer; a True condition stays
//
// The checks go on while the cluster is being deleted: they decide which resources are cleaned up and which are given up.
package awsidentity

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status   *controlplanestatus.Store
	Clock    clock.PassiveClock
	Sessions *identity.Sessions
	// KeyReady returns tokensigner.ErrNoKey as long as there is no key to sign with.
	KeyReady func(context.Context) error
	// Interval is how old an answer of AWS may be and still count.
	Interval time.Duration
	// TakeRole, if set, requests credentials of a role from STS, with a token of the subject, and drops them.
	TakeRole func(ctx context.Context, region, issuerURL, roleARN, subject string) error
}

const (
	// maxInterval is the longest time between two checks of the last answer. The condition follows an answer within minutes, and a check
	// makes no call.
	maxInterval = 2 * time.Minute
	// retryAfter is the interval until AWS is called again after a failure.
	retryAfter = 15 * time.Second
	// firstCallTimeout is how long the first call is left to the controllers that have
	// to call anyway, and firstCallInterval how often their answer is looked for.
	firstCallTimeout  = time.Minute
	firstCallInterval = 2 * time.Second
)

// Reconciler checks the AWS identity of a control plane.
type Reconciler struct {
	Options
	// known holds this process's knowledge of each control plane. One reconcile runs at a time.
	known map[client.ObjectKey]*knowledge
}

// knowledge is one process's knowledge of a control plane, until the control plane is deleted.
type knowledge struct {
	uid types.UID
	// able is since when a call was possible, zero if it was not yet.
	able time.Time
	// trust is the result of the last check of the roles, nil before the first check. It is
	// ahead of the status in the cache, and has findings too.
	trust *trusted
}

// of returns the knowledge of a control plane. A control plane that is created again with the same name starts without knowledge.
func (r *Reconciler) of(hcp *hyperv1.HostedControlPlane) *knowledge {
	key := client.ObjectKeyFromObject(hcp)
	if k := r.known[key]; k == nil || k.uid != hcp.UID {
		r.known[key] = &knowledge{uid: hcp.UID}
	}
	return r.known[key]
}

func (r *Reconciler) forget(_ context.Context, key client.ObjectKey) error {
	delete(r.known, key)
	return nil
}

// statusPart holds the status fields that this controller writes.
type statusPart struct {
	AWSRolesIsolation *hyperv1.AWSRolesIsolationRecord `json:"awsRolesIsolation,omitempty"`
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *hyperv1.HostedControlPlane]

// New returns the controller.
func New(opts Options) *Controller { return newReconciler(opts).controller() }

func newReconciler(opts Options) *Reconciler {
	return &Reconciler{Options: opts, known: map[client.ObjectKey]*knowledge{}}
}

func (r *Reconciler) controller() *Controller {
	opts := r.Options
	steps := []reconcile.Step[*hyperv1.HostedControlPlane]{{Name: "identity", Condition: hyperv1.ValidAWSIdentityProvider, Run: r.checkIdentity}}
	if opts.TakeRole != nil {
		steps = append(steps, reconcile.Step[*hyperv1.HostedControlPlane]{Name: "isolation", Condition: hyperv1.AWSRolesIsolated, Run: r.checkIsolation})
	}
	return &Controller{
		Name: "awsidentity", Client: opts.Client, Clock: opts.Clock,
		Gone: r.forget,
		Scope: func(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*hyperv1.HostedControlPlane, error) {
			if hcp.Unreadable() != "" || hcp.Spec.Platform.AWS == nil {
				return nil, reconcile.Skip(0)
			}
			return hcp, nil
		},
		Phase: func(*hyperv1.HostedControlPlane) []reconcile.Step[*hyperv1.HostedControlPlane] { return steps },
		Store: opts.Status, Conditions: []string{hyperv1.ValidAWSIdentityProvider, hyperv1.AWSRolesIsolated},
		Fields: func(hcp *hyperv1.HostedControlPlane) any {
			return statusPart{AWSRolesIsolation: hcp.Status.AWSRolesIsolation}
		},
		Spacing: reconcile.DefaultSpacing, CanWait: []string{"awsRolesIsolation"},
		Resync: func(*hyperv1.HostedControlPlane) time.Duration { return min(maxInterval, opts.Interval) },
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	return c.Builder(mgr).For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).Complete(c)
}

func (r *Reconciler) checkIdentity(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	target := identity.Target{
		Region: hcp.Spec.Platform.AWS.Region, IssuerURL: hcp.Spec.IssuerURL, RoleARN: string(hcp.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN),
	}
	last, answered := r.Sessions.Last(target)
	if answered && r.fresh(last) {
		return finding(last.Err)
	}
	if err := r.KeyReady(ctx); errors.Is(err, tokensigner.ErrNoKey) {
		return reconcile.Unknown(reconcile.Jitter(retryAfter), hyperv1.WaitingForSigningKeyReason, "%s", awsx.Message(err))
	} else if err != nil {
		return finding(err)
	}
	if !answered && r.othersFirst(hcp) {
		return reconcile.Unknown(firstCallInterval, hyperv1.StatusUnknownReason, "waiting for the first call to AWS")
	}
	s, err := r.Sessions.For(ctx, target)
	if err != nil {
		return finding(err)
	}
	return finding(s.Check(ctx))
}

// othersFirst is true while the first call is left to another controller: the controller that connects
// the VPC of a private cluster. For a public cluster no other controller calls. A deletion depends on
// the answer, and does not wait for another controller.
func (r *Reconciler) othersFirst(hcp *hyperv1.HostedControlPlane) bool {
	access := hcp.Spec.Platform.AWS.EndpointAccess
	if access != hyperv1.Private && access != hyperv1.PublicAndPrivate || !hcp.DeletionTimestamp.IsZero() {
		return false
	}
	now, knowledge := r.Clock.Now(), r.of(hcp)
	if knowledge.able.IsZero() {
		knowledge.able = now
	}
	return now.Sub(knowledge.able) < firstCallTimeout
}

// fresh is true if an answer still counts. A refusal is checked again soon, because
// the user may be correcting the cause.
func (r *Reconciler) fresh(last identity.Outcome) bool {
	age := r.Clock.Since(last.At)
	if finding(last.Err) != nil {
		return age < retryAfter
	}
	return age < r.Interval
}

// finding turns an error into an outcome. That AWS does not accept the cluster is a
// result of the check, not a failure of the controller. Only an answer of AWS about the
// identity makes the condition False; an error such as AccessDenied proves that AWS
// knows the role.
func finding(err error) error {
	requeueAfter := reconcile.Jitter(retryAfter)
	switch {
	case awsx.IsIdentity(err):
		return reconcile.Wait(requeueAfter, reason(err), "%s", awsx.Message(err))
	case awsx.IsTransient(err), awsx.Kind(err) == awsx.NotAWS:
		return reconcile.Unknown(requeueAfter, reason(err), "%s", awsx.Message(err))
	}
	return nil
}

func reason(err error) string {
	switch {
	case awsx.Code(err) == "InvalidIdentityToken":
		return hyperv1.InvalidIdentityProviderReason
	case awsx.IsIdentity(err):
		return hyperv1.InvalidIAMRoleReason
	}
	return awsx.Reason(err)
}
