package aws

import (
	"context"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Reader reads past the cache: uncached objects, and facts that must be current.
	Reader        client.Reader
	Recorder      events.EventRecorder
	Clock         clock.PassiveClock
	LoadBalancers *loadbalancer.LoadBalancers
	Services      *endpointservice.Services
	// Caller knows the location of the two of them.
	Caller *identity.Caller
	// Namespace is the namespace of this operator. SharedRouter is true if the installation has a shared router there.
	Namespace    string
	SharedRouter bool
	// Resync is how often an object is compared with AWS without a change.
	Resync time.Duration
}

// Reconciler manages the provider's half of AWSEndpointServices.
type Reconciler struct {
	Options
	ledger      *ledger.Ledger[*scope]
	service     ledger.Resource[*scope]
	comparisons *comparisons
	// shared is locked while the shared endpoint service is changed.
	shared sync.Mutex
}

// Controller reconciles AWSEndpointServices.
type Controller = reconcile.Controller[*hyperv1.AWSEndpointService, *scope]

// New returns the controller.
func New(o Options) *Controller { return newReconciler(o).controller() }

func newReconciler(o Options) *Reconciler {
	r := &Reconciler{Options: o, comparisons: newComparisons(o.Clock, o.Resync)}
	r.service = r.endpointService()
	r.ledger = r.newLedger()
	return r
}

func (r *Reconciler) controller() *Controller {
	live := []reconcile.Step[*scope]{
		{Name: "finalizer and subnets", Run: r.ensureClaim},
		{Name: "endpoint service", Condition: hyperv1.AWSEndpointServiceAvailable, Run: r.ensureService},
	}
	deleting := []reconcile.Step[*scope]{
		{Name: "deletion of the endpoint service", Condition: hyperv1.AWSEndpointServiceAvailable, Run: r.deleteRecorded},
		{Name: "finalizer", Run: r.ledger.Release},
	}
	return &Controller{
		Name: "awsendpointservice", Client: r.Client, Reader: r.Reader, Clock: r.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			if s.deleting() {
				return deleting
			}
			return live
		},
		FieldOwner: names.HypershiftOperator, Conditions: []string{hyperv1.AWSEndpointServiceAvailable}, Fields: fields,
		Status: r.summarize,
		Classify: reconcile.Classifier{
			// An answer of the API server, such as a conflict, is no evidence about AWS.
			Transient: func(err error) bool {
				return awsx.IsTransient(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
			},
		},
		Resync:      func(*scope) time.Duration { return r.Resync },
		NoLaterThan: func(s *scope) time.Duration { return s.compareAfter },
		MaxBackoff:  5 * time.Minute,
		Workers:     workers,
	}
}

// scope holds the facts of one reconcile.
type scope struct {
	es     *hyperv1.AWSEndpointService
	status *reconcile.Writer[*hyperv1.AWSEndpointService]
	owner
	// note is information for the user without a failure. Set by ensureClaim.
	note string
	// balancer is the load balancer that is offered. Set by ensureService.
	balancer loadbalancer.LoadBalancer
	// offered is the endpoint service. Set by ensureEndpointService.
	offered endpointservice.Service
	// compareAfter is the time until the service is compared with AWS again, 0 for the usual time. Set by compare.
	compareAfter time.Duration
	// record is the record on the Namespace. Set by deleteRecorded.
	record record
}

func (s *scope) deleting() bool { return !s.es.DeletionTimestamp.IsZero() }

// scope skips an object of a paused cluster, unless the object is being deleted.
func (r *Reconciler) scope(ctx context.Context, es *hyperv1.AWSEndpointService, status *reconcile.Writer[*hyperv1.AWSEndpointService]) (*scope, error) {
	owner, err := r.resolveOwner(ctx, es.Namespace)
	if err != nil {
		return nil, err
	}
	s := &scope{es: es, status: status, owner: owner}
	if remaining, paused := owner.pausedFor(r.Clock.Now()); paused && !s.deleting() {
		return nil, reconcile.Skip(remaining)
	}
	return s, nil
}

// fields returns the fields of the status that this operator writes.
func fields(es *hyperv1.AWSEndpointService) any {
	return hyperv1.AWSEndpointServiceStatus{
		EndpointServiceName:    es.Status.EndpointServiceName,
		NetworkLoadBalancerARN: es.Status.NetworkLoadBalancerARN,
		AvailabilityZoneIDs:    es.Status.AvailabilityZoneIDs,
	}
}

// summarize adds the note to the condition, and records an event when the service
// becomes available, or when principals were missing.
func (r *Reconciler) summarize(s *scope, report reconcile.Report, conditions *reconcile.Conditions) {
	const condition = hyperv1.AWSEndpointServiceAvailable
	if s.deleting() {
		if report.Done() {
			conditions.Restore(condition) // the deletion is done, and the service is not available
		}
		return
	}
	current, previous := conditions.Get(condition), conditions.Before(condition)
	if current == nil || current.Status != metav1.ConditionTrue {
		return
	}
	if s.note != "" {
		current.Message = s.note
	}
	if added := s.offered.AddedPrincipals; len(added) > 0 && previous != nil && previous.Status == current.Status {
		r.Recorder.Eventf(s.es, nil, "Normal", "AllowedPrincipalsAdded", "Reconcile", "Principals that were missing may connect to endpoint service %s: %s", s.es.Status.EndpointServiceName, strings.Join(added, ", "))
	}
	if previous == nil || previous.Status != current.Status {
		r.Recorder.Eventf(s.es, nil, "Normal", "EndpointServiceAvailable", "Reconcile", "Endpoint service %s is available", s.es.Status.EndpointServiceName)
	}
}
