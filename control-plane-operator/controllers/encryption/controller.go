package encryption

import (
	"context"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// Owner is the field owner of this controller's part of the status.
const Owner = "control-plane-operator-encryption"

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader reads past the cache: a stage must not follow from what was true before.
	Reader client.Reader
	Clock  clock.PassiveClock
	// Open makes a client of the hosted cluster; nil for the usual one.
	Open func(*rest.Config) (client.Client, error)
}

const (
	// interval is how often the API servers are compared with the stage while one
	// is under way. Their pods are not watched.
	interval = 10 * time.Second
	// retryAfter is how soon objects are tried again that could not be rewritten.
	retryAfter = time.Minute
	// slice is how long one pass rewrites objects. Another key may be wanted meanwhile.
	slice = 20 * time.Second
	// deadline is how long a pass may take.
	deadline = time.Minute
	jitter   = 0.2
)

// Reconciler changes the keys of a control plane.
type Reconciler struct {
	Options
	steps []reconcile.Step[*scope]
	// rewritings are those under way. One pass runs at a time.
	rewritings map[types.UID]*rewriting
}

// New returns a Reconciler.
func New(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, rewritings: map[types.UID]*rewriting{}}
	if r.Open == nil {
		r.Open = func(config *rest.Config) (client.Client, error) { return client.New(config, client.Options{}) }
	}
	r.steps = []reconcile.Step[*scope]{
		{Name: "facts", Run: r.gather},
		{Name: "re-encryption", Run: r.reencrypt},
		{Name: "plan", Run: r.plan},
	}
	return r
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []ctrl.Request {
		list := &hyperv1.HostedControlPlaneList{}
		if err := opts.Client.List(ctx, list, client.InNamespace(obj.GetNamespace())); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing HostedControlPlanes to wake up")
			return nil
		}
		var requests []ctrl.Request
		for i := range list.Items {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return requests
	})
	return ctrl.NewControllerManagedBy(mgr).Named("encryption").
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(changed)).
		Watches(&corev1.Secret{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(s client.Object) bool {
			return s.GetName() == kubeapiserver.EncryptionSecret || s.GetAnnotations()[hyperv1.CopiedFromAnnotation] != ""
		}))).
		Watches(&appsv1.Deployment{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(d client.Object) bool {
			return d.GetName() == names.KubeAPIServer
		}))).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Second, time.Minute)}).
		Complete(reconcile.AsReconciler(opts.Client, New(opts)))
}

// changed lets through what a pass depends on.
var changed = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	relevant := func(obj client.Object) any {
		hcp := obj.(*hyperv1.HostedControlPlane)
		return []any{
			hcp.Generation, hcp.Annotations, hcp.DeletionTimestamp.IsZero(), hcp.Status.SecretEncryption,
			meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable),
		}
	}
	return !reflect.DeepEqual(relevant(e.ObjectOld), relevant(e.ObjectNew))
}}

// scope is what one pass has learned, and by which step.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// secrets are those of the namespace, and facts follow from them and from the
	// API servers. behind counts API server pods without the configuration, and
	// fault is what the user has to put right. gather
	secrets map[string]*corev1.Secret
	facts   secretencryption.Facts
	servers types.UID
	// revision is the generation of the API servers' Deployment.
	revision int64
	behind   int
	fault    error
	// rewriting is how far that is. reencrypt
	rewriting *rewriting
	paused    bool
}

func (s *scope) status() *hyperv1.SecretEncryptionStatus { return s.hcp.Status.SecretEncryption }

// moving reports whether a stage is under way.
func (s *scope) moving() bool {
	st := s.status()
	move := secretencryption.Current(st)
	return st == nil || st.TargetKey != nil || move == nil || move.Stage != hyperv1.SecretEncryptionDone || secretencryption.Overtaken(st, s.facts)
}

// Reconcile takes the keys of one control plane a stage further.
func (r *Reconciler) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	if hcp.Unreadable() != "" || !hcp.DeletionTimestamp.IsZero() || hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == "true" {
		delete(r.rewritings, hcp.UID)
		return ctrl.Result{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	status := reconcile.NewWriter(r.Client, r.Reader, hcp, Owner, ourStatus)
	if hcp.Spec.SecretEncryption == nil {
		reconcile.RemoveConditions(&hcp.Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate)
		return reconcile.Report{}.Result(status.Write(ctx))
	}
	s := &scope{hcp: hcp}
	s.paused, _ = hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	report := reconcile.Run(ctx, s, r.steps...)
	r.summarize(s, report)
	result, err := report.Result(status.Write(ctx))
	if err == nil && s.moving() && result.RequeueAfter == 0 {
		result.RequeueAfter = wait.Jitter(interval, jitter)
	}
	return result, err
}

// plan records the next stage. Whoever pauses the cluster wants no change; which
// keys are in use is recorded all the same.
func (r *Reconciler) plan(_ context.Context, s *scope) error {
	if s.paused && s.status() != nil {
		return nil
	}
	before := s.status()
	s.hcp.Status.SecretEncryption = secretencryption.Next(before, s.facts)
	if before != nil && !reflect.DeepEqual(before, s.hcp.Status.SecretEncryption) {
		s.facts.RolledOut = false // with what follows now
	}
	return nil
}

// statusPart is the part of the status that this controller writes.
type statusPart struct {
	SecretEncryption *hyperv1.SecretEncryptionStatus `json:"secretEncryption,omitempty"`
	Conditions       []metav1.Condition              `json:"conditions,omitempty"`
}

func ourStatus(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{SecretEncryption: hcp.Status.SecretEncryption}
	if c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate); c != nil {
		part.Conditions = []metav1.Condition{*c}
	}
	return part
}
