package aws

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/awsx/place"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader asks the API server, for what is not cached or must not be late.
	Reader        client.Reader
	Recorder      events.EventRecorder
	Clock         clock.PassiveClock
	LoadBalancers *loadbalancer.LoadBalancers
	Services      *endpointservice.Services
	// Place is where the two of them are.
	Place *place.Ours
	// Resync is how long an object at rest is left alone; jitter is added.
	Resync time.Duration
}

// Reconciler drives the provider's half of AWSEndpointServices.
type Reconciler struct {
	client   client.Client
	reader   client.Reader
	recorder events.EventRecorder
	clock    clock.PassiveClock
	lbs      *loadbalancer.LoadBalancers
	services *endpointservice.Services
	place    *place.Ours
	resync   time.Duration
	// seen has the UIDs of objects that are being deleted and whose service this
	// process has seen, and deleted.
	seen sync.Map

	live, dying []reconcile.Step[*scope]
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	r := &Reconciler{client: o.Client, reader: o.Reader, recorder: o.Recorder, clock: o.Clock, lbs: o.LoadBalancers, services: o.Services, place: o.Place, resync: o.Resync}
	r.live = []reconcile.Step[*scope]{
		{Name: "the claim", Run: r.ensureClaim},
		{Name: "the endpoint service", Condition: hyperv1.AWSEndpointServiceAvailable, Run: r.ensureService},
	}
	r.dying = []reconcile.Step[*scope]{
		{Name: "deletion of the endpoint service", Condition: hyperv1.AWSEndpointServiceAvailable, Run: r.deleteService},
		{Name: "the finalizer", Run: r.removeFinalizer},
	}
	return r
}

// scope is what one pass knows.
type scope struct {
	es *hyperv1.AWSEndpointService
	owner
	// note is what the user should know although nothing fails. Set by ensureClaim.
	note string
}

// Reconcile drives one AWSEndpointService on the provider's side.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	es := &hyperv1.AWSEndpointService{}
	if err := r.client.Get(ctx, req.NamespacedName, es); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owner, err := r.resolveOwner(ctx, es.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	s := &scope{es: es, owner: owner}
	steps := r.dying
	if es.DeletionTimestamp.IsZero() {
		if left, paused := owner.pausedFor(r.clock.Now()); paused {
			return ctrl.Result{RequeueAfter: left}, nil
		}
		steps = r.live
	}
	p := reconcile.NewWriter(r.client, r.reader, es, names.HypershiftOperator, ourStatus)
	report := reconcile.Run(ctx, s, steps...)
	r.summarize(s, report)
	res, err := report.Result(p.Write(ctx))
	if err == nil && res.RequeueAfter == 0 {
		res.RequeueAfter = wait.Jitter(r.resync, 0.2)
	}
	return res, err
}

func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope) error {
	if err := reconcile.RemoveFinalizer(ctx, r.client, s.es, hyperv1.HypershiftOperatorFinalizer); err != nil {
		return err
	}
	r.seen.Delete(s.es.UID)
	return nil
}

// ourStatus is the half of the status that this operator writes.
func ourStatus(es *hyperv1.AWSEndpointService) any {
	half := hyperv1.AWSEndpointServiceStatus{
		EndpointServiceName:    es.Status.EndpointServiceName,
		NetworkLoadBalancerARN: es.Status.NetworkLoadBalancerARN,
		AvailabilityZoneIDs:    es.Status.AvailabilityZoneIDs,
	}
	if c := meta.FindStatusCondition(es.Status.Conditions, hyperv1.AWSEndpointServiceAvailable); c != nil {
		half.Conditions = []metav1.Condition{*c}
	}
	return half
}

var judge = reconcile.Classifier{
	// An answer of the API server, such as a conflict, says nothing about AWS.
	Transient: func(err error) bool {
		return awsx.IsTransient(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	},
	Reason:  awsx.Reason,
	Message: awsx.Message,
}

// summarize puts what the steps said into the condition.
func (r *Reconciler) summarize(s *scope, report reconcile.Report) {
	if !s.es.DeletionTimestamp.IsZero() && report.Done() {
		return // nobody will read it, and "all is well" would be wrong
	}
	was := meta.FindStatusCondition(s.es.Status.Conditions, hyperv1.AWSEndpointServiceAvailable)
	conds := reconcile.FromReport(report, judge, s.es.Status.Conditions, s.es.Generation, r.clock.Now())
	if c := meta.FindStatusCondition(conds, hyperv1.AWSEndpointServiceAvailable); c != nil && c.Status == metav1.ConditionTrue && s.note != "" {
		c.Message = s.note
	}
	s.es.Status.Conditions = conds
	if is := meta.FindStatusCondition(conds, hyperv1.AWSEndpointServiceAvailable); is != nil && is.Status == metav1.ConditionTrue && (was == nil || was.Status != is.Status) {
		r.recorder.Eventf(s.es, nil, "Normal", "EndpointServiceAvailable", "Reconcile", "Endpoint service %s is available", s.es.Status.EndpointServiceName)
	}
}

// pace is how long to wait for something that AWS is doing: short at first,
// and the longer it takes the longer.
func (r *Reconciler) pace(s *scope) time.Duration {
	c := meta.FindStatusCondition(s.es.Status.Conditions, hyperv1.AWSEndpointServiceAvailable)
	if c == nil || c.Status == metav1.ConditionTrue {
		return quickest
	}
	return min(max(r.clock.Now().Sub(c.LastTransitionTime.Time)/4, quickest), slowest)
}

const (
	quickest = 5 * time.Second
	slowest  = 5 * time.Minute
)
