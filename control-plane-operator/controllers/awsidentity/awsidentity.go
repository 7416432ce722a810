// Package awsidentity reports whether AWS accepts the cluster's tokens, in the condition
// ValidAWSIdentityProvider, and whether the roles of its operators accept only
// those that nobody in the hosted cluster can mint, in AWSRolesIsolated (isolation.go).
//
//	what AWS said to the last call of any controller ── younger than the interval ──► judge it
//	             ├── none, but somebody is about to call ──► let him, for a minute
//	             └── older, or none ──► ask AWS who we are ──► judge that
//
//	True     AWS knew us, even if it denied the call
//	False    AWS does not take us for who we say we are
//	Unknown  there was no answer; a True condition stays
//
// It goes on while the cluster is being deleted: what may be cleaned up, and
// what has to be given up, hangs on it.
package awsidentity

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/session"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Owner is the field owner of the probe's part of the status.
const Owner = "control-plane-operator-probe"

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader reads past the cache.
	Reader   client.Reader
	Clock    clock.PassiveClock
	Sessions *session.Sessions
	// KeyReady returns identity.ErrNoKey as long as there is no key to sign with.
	KeyReady func(context.Context) error
	// Interval is how old an answer of AWS may be and still count.
	Interval time.Duration
	// TakeRole, if set, asks STS for credentials of a role with a token of that subject, and drops them.
	TakeRole func(ctx context.Context, region, issuerURL, roleARN, subject string) error
}

// Pace of the probe. The condition follows an answer within minutes, and
// looking whether there was one costs nothing.
const (
	lookEvery  = 2 * time.Minute
	retryAfter = 15 * time.Second
	jitter     = 0.2
	// courtesy is how long we leave the first call to those who have to call
	// anyway, and lookMeanwhile how often we look whether they have.
	courtesy      = time.Minute
	lookMeanwhile = 2 * time.Second
)

// Reconciler judges the identity of a control plane.
type Reconciler struct {
	Options
	steps []reconcile.Step[*hyperv1.HostedControlPlane]
	// able is since when we could have called, by control plane. One pass runs
	// at a time.
	able map[types.UID]time.Time
	// trust is what the last check of the roles by this process found, by control
	// plane. It is ahead of the status in the cache, and has findings too.
	trust map[types.UID]trusted
}

// New returns a Reconciler.
func New(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, able: map[types.UID]time.Time{}, trust: map[types.UID]trusted{}}
	r.steps = []reconcile.Step[*hyperv1.HostedControlPlane]{
		{Name: "identity", Condition: hyperv1.ValidAWSIdentityProvider, Run: r.checkIdentity},
	}
	if opts.TakeRole != nil {
		r.steps = append(r.steps, reconcile.Step[*hyperv1.HostedControlPlane]{Name: "isolation", Condition: hyperv1.AWSRolesIsolated, Run: r.checkIsolation})
	}
	return r
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	return ctrl.NewControllerManagedBy(mgr).Named("identityprobe").
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Second, time.Minute)}).
		Complete(reconcile.AsReconciler(opts.Client, New(opts)))
}

// Reconcile judges the identity of one control plane.
func (r *Reconciler) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	if hcp.Unreadable() != "" || hcp.Spec.Platform.AWS == nil {
		return ctrl.Result{}, nil
	}
	status := reconcile.NewWriter(r.Client, r.Reader, hcp, Owner, ourStatus)
	report := reconcile.Run(ctx, hcp, r.steps...)
	r.summarize(hcp, report)
	if err := status.Write(ctx); err != nil {
		return reconcile.Report{}.Result(err)
	}
	switch err := report[0].Err; {
	case errors.Is(err, errOthersFirst):
		return ctrl.Result{RequeueAfter: lookMeanwhile}, nil
	case err != nil:
		// An answer that we do not like is no failure of the probe.
		return ctrl.Result{RequeueAfter: wait.Jitter(retryAfter, jitter)}, nil
	}
	return ctrl.Result{RequeueAfter: wait.Jitter(min(lookEvery, r.Interval), jitter)}, nil
}

func (r *Reconciler) checkIdentity(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	target := session.Target{
		Region: hcp.Spec.Platform.AWS.Region, IssuerURL: hcp.Spec.IssuerURL, RoleARN: string(hcp.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN),
	}
	said, heard := r.Sessions.Last(target)
	if heard && r.fresh(said) {
		return identityOnly(said.Err)
	}
	if err := r.KeyReady(ctx); errors.Is(err, tokensigner.ErrNoKey) {
		return errUnasked{err}
	} else if err != nil {
		return err
	}
	if !heard && r.othersFirst(hcp) {
		return errUnasked{errOthersFirst}
	}
	s, err := r.Sessions.For(ctx, target)
	if err != nil {
		return err
	}
	return identityOnly(s.Check(ctx))
}

// othersFirst says whether to leave the first call to somebody else. That is
// who connects the VPC of a private cluster; for a public one nobody calls. The
// deletion waits to hear whether AWS knows us, and is told at once.
func (r *Reconciler) othersFirst(hcp *hyperv1.HostedControlPlane) bool {
	access := hcp.Spec.Platform.AWS.EndpointAccess
	if access != hyperv1.Private && access != hyperv1.PublicAndPrivate || !hcp.DeletionTimestamp.IsZero() {
		return false
	}
	now := r.Clock.Now()
	if _, known := r.able[hcp.UID]; !known {
		r.able[hcp.UID] = now
	}
	return now.Sub(r.able[hcp.UID]) < courtesy
}

// fresh says whether an answer still counts. One that we did not like is
// asked again soon: somebody may be mending what was wrong.
func (r *Reconciler) fresh(said session.Outcome) bool {
	age := r.Clock.Since(said.At)
	if identityOnly(said.Err) != nil {
		return age < retryAfter
	}
	return age < r.Interval
}

// identityOnly drops what is no matter of identity: who is denied was known.
func identityOnly(err error) error {
	if awsx.IsIdentity(err) || awsx.IsTransient(err) || awsx.Kind(err) == awsx.NotAWS {
		return err
	}
	return nil
}

// errUnasked says that AWS could not even be asked.
type errUnasked struct{ error }

func (e errUnasked) Unwrap() error { return e.error }

// errOthersFirst says that somebody else is about to ask.
var errOthersFirst = errors.New("waiting for the first call to AWS")

var judge = reconcile.Classifier{
	Transient: func(err error) bool {
		// Only an answer of AWS about us makes the condition False.
		return !awsx.IsIdentity(err) || errors.As(err, new(errUnchecked))
	},
	Reason: func(err error) string {
		switch {
		case errors.Is(err, errOthersFirst):
			return hyperv1.StatusUnknownReason
		case errors.As(err, new(errUnasked)):
			return hyperv1.WaitingForSigningKeyReason
		case awsx.Code(err) == "InvalidIdentityToken":
			return hyperv1.InvalidIdentityProviderReason
		case awsx.IsIdentity(err):
			return hyperv1.InvalidIAMRoleReason
		}
		return awsx.Reason(err)
	},
	Message: awsx.Message,
}

func (r *Reconciler) summarize(hcp *hyperv1.HostedControlPlane, report reconcile.Report) {
	hcp.Status.Conditions = reconcile.FromReport(report, judge, hcp.Status.Conditions, hcp.Generation, r.Clock.Now())
}

// statusPart is the part of the status that the probe writes.
type statusPart struct {
	AWSRolesIsolation *hyperv1.AWSRolesIsolationRecord `json:"awsRolesIsolation,omitempty"`
	Conditions        []metav1.Condition               `json:"conditions,omitempty"`
}

func ourStatus(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{AWSRolesIsolation: hcp.Status.AWSRolesIsolation}
	for _, condition := range []string{hyperv1.ValidAWSIdentityProvider, hyperv1.AWSRolesIsolated} {
		if c := meta.FindStatusCondition(hcp.Status.Conditions, condition); c != nil {
			part.Conditions = append(part.Conditions, *c)
		}
	}
	return part
}
