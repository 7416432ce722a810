package hostedapi

import (
	"context"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/metrics"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status *controlplanestatus.Store
	// Reader reads past the cache: the kubeconfigs, because a cache would have to
	// be allowed to read every Secret of the namespace.
	Reader client.Reader
	Clock  clock.PassiveClock
	// StartInterval is the interval between checks of an API server that is not ready, and Interval between checks of a ready API server.
	StartInterval, Interval time.Duration
	// CheckPaths is true if the API server is also checked where it is published,
	// through the load balancers that users and nodes use.
	CheckPaths bool
	// CorruptMembers returns the etcd members with other data than the rest.
	CorruptMembers func(context.Context, *hyperv1.HostedControlPlane) ([]string, error)
}

const (
	// confirmAfter is how soon a missing answer is confirmed, and outage how long there
	// must have been no answer until a server that was ready counts as unavailable: a
	// lost packet is no outage, nor is a server that shuts down while others serve.
	// Until no node sends connections to that server any more, each attempt may meet
	// it, and a change of its Deployment leads to more attempts.
	confirmAfter, outage = 2 * time.Second, 6 * time.Second
	// arrival is how long it may take until a Service leads to a pod that has become
	// ready, and arrivalInterval how often the check is repeated in that time.
	arrival, arrivalInterval = 20 * time.Second, time.Second
)

// Reconciler checks the API server of a control plane.
type Reconciler struct {
	Options
	access *access
	// missed is since when an API server that was ready does not answer, by control
	// plane. One reconcile runs at a time.
	missed map[client.ObjectKey]silence
	// counted is when audit events were counted, by control plane. One reconcile runs at a time.
	counted map[client.ObjectKey]time.Time
	// monitor checks the paths; nil if they are not to be checked.
	monitor *monitor
	// changes delivers the control plane for which a path has changed.
	changes chan event.GenericEvent
}

func newReconciler(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, access: newAccess(opts.Reader, opts.Clock), missed: map[client.ObjectKey]silence{}, counted: map[client.ObjectKey]time.Time{}, changes: make(chan event.GenericEvent, 1)}
	if opts.CheckPaths {
		r.monitor = newMonitor(opts.Interval, opts.Clock.Now, r.pathChanged)
	}
	return r
}

// silence is since when an API server does not answer.
type silence struct {
	uid   types.UID
	since time.Time
}

// forget drops the knowledge of a deleted control plane.
func (r *Reconciler) forget(_ context.Context, key client.ObjectKey) error {
	delete(r.missed, key)
	delete(r.counted, key)
	r.access.forget(key)
	return nil
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller { return newReconciler(opts).controller() }

func (r *Reconciler) controller() *Controller {
	steps := []reconcile.Step[*scope]{
		{Name: "health check", Run: r.check},
		{Name: "confirmation", Run: r.confirm},
		{Name: "components", Run: r.explain},
		{Name: "paths", Run: r.checkPaths},
		{Name: "arrival", Run: r.resolveArrival},
		{Name: "audit events", Run: r.countAuditEvents},
	}
	return &Controller{
		Name: "hostedapi", Client: r.Client, Clock: r.Clock,
		Gone: r.forget,
		Scope: func(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
			if hcp.Unreadable() != "" {
				return nil, reconcile.Skip(0) // the hostedcontrolplane controller reports it
			}
			return &scope{hcp: hcp}, nil
		},
		Phase: func(*scope) []reconcile.Step[*scope] { return steps },
		Store: r.Status, Conditions: ours, Fields: fields,
		Spacing: reconcile.DefaultSpacing, Prompt: []string{hyperv1.KubeAPIServerAvailable}, CanWait: []string{"kubeConfig"},
		Status: summarize,
		Resync: func(s *scope) time.Duration {
			if s.hcp.Status.Ready || s.hcp.Sleeps() {
				return r.Interval
			}
			return r.StartInterval
		},
		NoLaterThan: func(s *scope) time.Duration {
			if s.arrived && s.answer.silent {
				return arrivalInterval
			}
			return 0
		},
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	r := newReconciler(opts)
	c := r.controller()
	b := c.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, sleepChanged))).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(serversChanged())).
		Owns(&corev1.Secret{}, builder.WithPredicates(predicate.NewPredicateFuncs(forUsers)))
	if r.monitor != nil {
		if err := mgr.Add(r.monitor); err != nil {
			return err
		}
		b = b.Owns(&corev1.Service{}).Owns(&routev1.Route{}).
			WatchesRawSource(source.Channel(r.changes, &handler.EnqueueRequestForObject{}))
	}
	return b.Complete(c)
}

// sleepChanged passes the beginning and the end of a sleep.
var sleepChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.(*hyperv1.HostedControlPlane).SleepPhase() != e.ObjectNew.(*hyperv1.HostedControlPlane).SleepPhase()
}}

// pathChanged wakes the controller. If the channel is full, it has been woken already.
func (r *Reconciler) pathChanged(hcp client.ObjectKey) {
	woken := &hyperv1.HostedControlPlane{}
	woken.Namespace, woken.Name = hcp.Namespace, hcp.Name
	select {
	case r.changes <- event.GenericEvent{Object: woken}:
	default:
	}
}

// forUsers is true for the kubeconfigs of users, which are needed while the API server
// is still starting.
func forUsers(secret client.Object) bool {
	return secret.GetName() == names.AdminKubeconfig || secret.GetName() == names.CustomAdminKubeconfig
}

// serversChanged passes changes of the number of pods that serve the API: they lead to
// a check at once.
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

// scope holds the facts of one reconcile.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// answer is the API server's answer. Set by check and explain.
	answer answer
	// reachable is the condition about the paths, nil if they are not checked. Set by
	// checkPaths.
	reachable *metav1.Condition
	// complete is true if there is something to report. Set by checkPaths.
	complete bool
	// arrived is true if pods serve the API that were not ready a moment ago. Set by
	// resolveArrival.
	arrived bool
}

func (r *Reconciler) check(ctx context.Context, s *scope) (err error) {
	s.answer, err = r.queryServer(ctx, s.hcp)
	return err
}

// confirm waits before an API server that was ready is reported as unavailable.
func (r *Reconciler) confirm(_ context.Context, s *scope) error {
	if r.doubtful(s.hcp, s.answer) {
		return reconcile.Unknown(confirmAfter, s.answer.problem.reason, "%s", s.answer.problem.message)
	}
	return nil
}

// resolveArrival finds out whether an API server that does not answer has just become ready.
func (r *Reconciler) resolveArrival(ctx context.Context, s *scope) (err error) {
	if s.answer.problem != nil {
		s.arrived, err = r.justArrived(ctx, s.hcp)
	}
	return err
}

// justArrived is true if pods have begun to serve the API a moment ago.
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

// queryServer returns the answer of the API server. An error is one of the management cluster.
func (r *Reconciler) queryServer(ctx context.Context, hcp *hyperv1.HostedControlPlane) (answer, error) {
	by, err := r.access.to(ctx, hcp)
	if err != nil {
		return answer{}, err
	}
	if hcp.Sleeps() {
		metrics.API(hcp, false, 0)
		return answer{kubeconfig: by, problem: &problem{hyperv1.AsleepReason, component.Asleep}}, nil
	}
	if by.problem != nil {
		metrics.API(hcp, false, 0)
		return answer{kubeconfig: by, problem: by.problem}, nil
	}
	health := by.queryHealth(ctx, r.Clock, leftOut(hcp)...)
	metrics.API(hcp, health.problem == nil, health.took)
	health.kubeconfig = by
	if health.problem != nil {
		r.access.forget(client.ObjectKeyFromObject(hcp)) // it may have been renewed
	}
	return health, nil
}

// doubtful is true if a missing answer has to be confirmed before an API server that
// was ready is reported as unavailable.
func (r *Reconciler) doubtful(hcp *hyperv1.HostedControlPlane, health answer) bool {
	key := client.ObjectKeyFromObject(hcp)
	if health.problem == nil || !health.silent || !hcp.Status.Ready {
		delete(r.missed, key)
		return false
	}
	if missed, ok := r.missed[key]; !ok || missed.uid != hcp.UID {
		r.missed[key] = silence{hcp.UID, r.Clock.Now()}
	}
	return r.Clock.Since(r.missed[key].since) < outage
}
