package hostedapi

import (
	"context"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Owner is the field owner of this controller's part of the status.
const Owner = "control-plane-operator-hosted-api"

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader reads past the cache: the kubeconfigs, because a cache would have to
	// be allowed to read every Secret of the namespace.
	Reader client.Reader
	Clock  clock.PassiveClock
	// StartInterval is how often to ask an API server that is not ready, and
	// Interval how often one that is.
	StartInterval, Interval time.Duration
	// CheckPaths says that the API server is also to be reached where it is
	// published, by the load balancers that users and nodes take.
	CheckPaths bool
	// CorruptMembers returns the members of etcd whose data differs from that of the others.
	CorruptMembers func(context.Context, *hyperv1.HostedControlPlane) ([]string, error)
}

const (
	// jitter keeps apart the operators that were started together.
	jitter = 0.2
	// confirmAfter is how soon to ask again before it is believed that an API
	// server that was there is gone, and outage how long nobody must have answered
	// until then: a lost packet is no outage, nor is a server that ends while
	// others serve. Until no node sends connections to it any more, each attempt
	// may meet it, and a change of its Deployment causes attempts of its own.
	confirmAfter, outage = 2 * time.Second, 6 * time.Second
	// arrival is how long it may take until a Service leads to a pod that is
	// ready, and knock how often to try meanwhile.
	arrival, knock = 20 * time.Second, time.Second
)

// Reconciler asks the API server of a control plane.
type Reconciler struct {
	Options
	access *access
	// missed are the control planes whose API server was there and does not
	// answer, and since when. One pass runs at a time.
	missed map[types.UID]time.Time
	// monitor checks the paths; nil if they are not to be checked.
	monitor *monitor
	// changes has the control plane whose paths have changed.
	changes chan event.GenericEvent
}

// New returns a Reconciler that has asked nobody yet.
func New(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, access: newAccess(opts.Reader, opts.Clock), missed: map[types.UID]time.Time{}, changes: make(chan event.GenericEvent, 1)}
	if opts.CheckPaths {
		r.monitor = newMonitor(opts.Interval, opts.Clock.Now, r.pathChanged)
	}
	return r
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	r := New(opts)
	b := ctrl.NewControllerManagedBy(mgr).Named("hostedapi").
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(serversChanged())).
		Owns(&corev1.Secret{}, builder.WithPredicates(predicate.NewPredicateFuncs(forUsers))).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Second, time.Minute)})
	if r.monitor != nil {
		if err := mgr.Add(r.monitor); err != nil {
			return err
		}
		b = b.Owns(&corev1.Service{}).Owns(&routev1.Route{}).
			WatchesRawSource(source.Channel(r.changes, &handler.EnqueueRequestForObject{}))
	}
	return b.Complete(reconcile.AsReconciler(opts.Client, r))
}

// pathChanged wakes the controller; it is awake already if the channel is full.
func (r *Reconciler) pathChanged(hcp client.ObjectKey) {
	woken := &hyperv1.HostedControlPlane{}
	woken.Namespace, woken.Name = hcp.Namespace, hcp.Name
	select {
	case r.changes <- event.GenericEvent{Object: woken}:
	default:
	}
}

// forUsers says whether a Secret is a kubeconfig that users get: they wait for it
// while the API server is still being started.
func forUsers(secret client.Object) bool {
	return secret.GetName() == names.AdminKubeconfig || secret.GetName() == names.CustomAdminKubeconfig
}

// serversChanged lets through that other pods serve the API than before: that
// is when to ask again, whatever was planned.
func serversChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(e event.DeleteEvent) bool { return e.Object.GetName() == names.KubeAPIServer },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*appsv1.Deployment), e.ObjectNew.(*appsv1.Deployment)
			return after.Name == names.KubeAPIServer && before.Status.ReadyReplicas != after.Status.ReadyReplicas
		},
	}
}

// Reconcile asks the API server of one control plane and tells what it said.
func (r *Reconciler) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	if hcp.Unreadable() != "" {
		return ctrl.Result{}, nil // the hostedcontrolplane controller says so
	}
	status := reconcile.NewWriter(r.Client, r.Reader, hcp, Owner, ourStatus)
	said, err := r.ask(ctx, hcp)
	if err != nil {
		return reconcile.Report{{Step: "kubeconfig", Err: err}}.Result(nil)
	}
	if r.doubtful(hcp, said) {
		return ctrl.Result{RequeueAfter: confirmAfter}, nil
	}
	if err := r.explain(ctx, hcp, &said); err != nil {
		return reconcile.Report{{Step: "components", Err: err}}.Result(nil)
	}
	if err := r.checkPaths(ctx, hcp, said.kubeconfig); err != nil {
		return reconcile.Report{{Step: "paths", Err: err}}.Result(nil)
	}
	r.summarize(hcp, said)
	if err := status.Write(ctx); err != nil {
		return reconcile.Report{}.Result(err)
	}
	if hcp.Status.Ready {
		return ctrl.Result{RequeueAfter: wait.Jitter(r.Interval, jitter)}, nil
	}
	if arrived, err := r.justArrived(ctx, hcp); err != nil || arrived && said.silent {
		return ctrl.Result{RequeueAfter: knock}, err
	}
	return ctrl.Result{RequeueAfter: wait.Jitter(r.StartInterval, jitter)}, nil
}

// justArrived says whether there are pods that serve the API since a moment ago.
func (r *Reconciler) justArrived(ctx context.Context, hcp *hyperv1.HostedControlPlane) (bool, error) {
	servers := &appsv1.Deployment{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: names.KubeAPIServer}, servers)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return slices.ContainsFunc(servers.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue && r.Clock.Since(c.LastTransitionTime.Time) < arrival
	}), nil
}

// ask returns what the API server said. An error is one of the management cluster.
func (r *Reconciler) ask(ctx context.Context, hcp *hyperv1.HostedControlPlane) (answer, error) {
	by, err := r.access.to(ctx, hcp)
	if err != nil {
		return answer{}, err
	}
	if by.problem != nil {
		return answer{kubeconfig: by, problem: by.problem}, nil
	}
	said := by.ask(ctx, leftOut(hcp)...)
	said.kubeconfig = by
	if said.problem != nil {
		r.access.forget(hcp.UID) // it may have been renewed
	}
	return said, nil
}

// doubtful says whether to ask again before it is told that an API server that
// was ready does not answer.
func (r *Reconciler) doubtful(hcp *hyperv1.HostedControlPlane, said answer) bool {
	if said.problem == nil || !said.silent || !hcp.Status.Ready {
		delete(r.missed, hcp.UID)
		return false
	}
	if r.missed[hcp.UID].IsZero() {
		r.missed[hcp.UID] = r.Clock.Now()
	}
	return r.Clock.Since(r.missed[hcp.UID]) < outage
}
