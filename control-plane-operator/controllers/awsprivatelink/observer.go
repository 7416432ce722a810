package awsprivatelink

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/nlb"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// ownRouters are the names of Services with load balancers for the customer.
var ownRouters = []string{names.KubeAPIServerPrivate, names.PrivateRouter}

// offered are the names of AWSEndpointServices.
var offered = append(slices.Clone(ownRouters), sharedrouter.EndpointService)

// Observer keeps an AWSEndpointService for each offered Service with a load balancer, as long as the
// cluster is private, or machines still use PrivateLink. Others are deleted, so that a change of the
// access mode needs no restart.
type Observer struct {
	Options
	apply *apply.Applier
}

// ObserverController reconciles HostedControlPlanes.
type ObserverController = reconcile.Controller[*hyperv1.HostedControlPlane, *hyperv1.HostedControlPlane]

// NewObserver returns the controller.
func NewObserver(opts Options) *ObserverController {
	o := &Observer{Options: opts, apply: apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator)}
	steps := []reconcile.Step[*hyperv1.HostedControlPlane]{{Name: "endpoint services", Run: o.ensureEndpointServices}}
	return &ObserverController{
		Name: "endpointservices", Client: opts.Client,
		Scope: func(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*hyperv1.HostedControlPlane, error) {
			paused, remaining := hcp.Spec.PausedUntil.Paused(opts.Clock.Now())
			if hcp.Unreadable() != "" || paused && hcp.DeletionTimestamp.IsZero() {
				return nil, reconcile.Skip(remaining)
			}
			return hcp, nil
		},
		Phase: func(*hyperv1.HostedControlPlane) []reconcile.Step[*hyperv1.HostedControlPlane] { return steps },
	}
}

// ensureEndpointServices compares the AWSEndpointServices of a control plane with its Services. A cluster that moves to the shared router, or
// from it, keeps the former ones until no client has their addresses.
func (o *Observer) ensureEndpointServices(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	var want []client.Object
	var remaining time.Duration
	if hcp.Spec.Platform.Type == hyperv1.AWSPlatform && hcp.ServedAccess().Has(hyperv1.Private) && hcp.DeletionTimestamp.IsZero() && !target.DropsLoadBalancers(hcp) {
		var err error
		if want, remaining, err = o.wanted(ctx, hcp); err != nil {
			return err
		}
	}
	_, err := o.apply.Apply(ctx, endpointServices(hcp), want...)
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Wait(time.Second, hyperv1.WaitingForReason, "waiting for the cache to have the newer AWSEndpointService")
	case err == nil && remaining > 0:
		return reconcile.Wait(remaining, hyperv1.WaitingForReason, "waiting until no client has the addresses of the former endpoint")
	}
	return err
}

// wanted returns the AWSEndpointServices of a control plane, and how long former ones stay at least.
func (o *Observer) wanted(ctx context.Context, hcp *hyperv1.HostedControlPlane) (want []client.Object, remaining time.Duration, err error) {
	current, former := ownRouters, []string{sharedrouter.EndpointService}
	if sharedrouter.Serves(hcp) {
		current, former = former, current
	}
	var made []*hyperv1.AWSEndpointService
	for _, name := range current {
		es, err := o.desired(ctx, hcp, name)
		if err != nil {
			return nil, 0, err
		}
		if es != nil {
			made, want = append(made, es), append(want, es)
		}
	}
	kept, err := o.live(ctx, hcp, former)
	if err != nil || len(kept) == 0 {
		return want, 0, err
	}
	since, err := o.readySince(ctx, hcp, made)
	if err != nil {
		return nil, 0, err
	}
	remaining = pollMove
	if !since.IsZero() {
		remaining = max(2*cmp.Or(hcp.PrivateRecordTTL(), records.DefaultTTL), minMove) - o.Clock.Since(since)
		if !sharedrouter.Serves(hcp) {
			remaining += publishing.Settling
		}
		for _, es := range made {
			metav1.SetMetaDataAnnotation(&es.ObjectMeta, publishing.ReadyAnnotation, since.UTC().Format(time.RFC3339))
		}
	}
	if remaining <= 0 {
		return want, 0, nil
	}
	return append(want, kept...), remaining, nil
}

// live returns the AWSEndpointServices of these names that exist.
func (o *Observer) live(ctx context.Context, hcp *hyperv1.HostedControlPlane, wanted []string) (found []client.Object, err error) {
	for _, name := range wanted {
		es := &hyperv1.AWSEndpointService{}
		err := o.Client.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: name}, es)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading AWSEndpointService %s: %w", name, err)
		}
		if err == nil && es.DeletionTimestamp.IsZero() {
			found = append(found, o.endpointService(hcp, name, es.Spec.NetworkLoadBalancerName))
		}
	}
	return found, nil
}

const (
	// minMove is how long former endpoints stay at least after the records have changed: as long as clients may have a public record of
	// external-dns, which writes it within a minute. They stay for twice the time for which resolvers may have private records.
	minMove = 2 * time.Minute
	// pollMove is how often a new endpoint is looked at.
	pollMove = 5 * time.Second
)

// readySince returns the time since which all current objects connect, and the router of the control plane runs and has its public load balancer;
// zero if they do not.
func (o *Observer) readySince(ctx context.Context, hcp *hyperv1.HostedControlPlane, current []*hyperv1.AWSEndpointService) (time.Time, error) {
	if len(current) == 0 {
		return time.Time{}, nil
	}
	since := o.Clock.Now()
	for _, es := range current {
		live := &hyperv1.AWSEndpointService{}
		if err := o.Client.Get(ctx, client.ObjectKeyFromObject(es), live); client.IgnoreNotFound(err) != nil {
			return time.Time{}, fmt.Errorf("reading AWSEndpointService %s: %w", es.Name, err)
		}
		if !meta.IsStatusConditionTrue(live.Status.Conditions, hyperv1.AWSEndpointAvailable) {
			return time.Time{}, nil
		}
		if at, err := time.Parse(time.RFC3339, live.Annotations[publishing.ReadyAnnotation]); err == nil && at.Before(since) {
			since = at
		}
	}
	if sharedrouter.Serves(hcp) {
		return since, nil
	}
	runs, err := o.ownRouterRuns(ctx, hcp)
	if err != nil || !runs {
		return time.Time{}, err
	}
	return since, nil
}

// ownRouterRuns reports whether the router of the control plane has a pod that is ready and, for public clients, a load balancer.
func (o *Observer) ownRouterRuns(ctx context.Context, hcp *hyperv1.HostedControlPlane) (bool, error) {
	key, pods, router := client.ObjectKey{Namespace: hcp.Namespace, Name: names.Router}, &appsv1.Deployment{}, &corev1.Service{}
	if err := o.Client.Get(ctx, key, pods); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading Deployment %s: %w", names.Router, err)
	}
	if pods.Status.AvailableReplicas == 0 || !hcp.ServedAccess().Has(hyperv1.Public) {
		return pods.Status.AvailableReplicas > 0, nil
	}
	err := o.Client.Get(ctx, key, router)
	if apierrors.IsNotFound(err) {
		return true, nil // the API server has its own load balancer
	}
	if err != nil {
		return false, fmt.Errorf("reading Service %s: %w", names.Router, err)
	}
	return len(router.Status.LoadBalancer.Ingress) > 0, nil
}

func endpointServices(hcp *hyperv1.HostedControlPlane) apply.Set {
	return apply.Set{Name: "endpoint-services", Namespace: hcp.Namespace, Kinds: []client.ObjectList{&hyperv1.AWSEndpointServiceList{}}, Parent: hcp}
}

// desired returns the AWSEndpointService of the named Service, or nil without a load balancer to
// offer. An existing AWSEndpointService keeps its load balancer while the status of the Service has
// none that can be used: a moment without a status must not disconnect the workers.
func (o *Observer) desired(ctx context.Context, hcp *hyperv1.HostedControlPlane, name string) (*hyperv1.AWSEndpointService, error) {
	if name == sharedrouter.EndpointService {
		balancer, err := nlb.Name(sharedrouter.Of(hcp).Private)
		if err != nil {
			return nil, reconcile.Block(hyperv1.LoadBalancerUnusableReason, "the shared router cannot be offered by PrivateLink: %v", err)
		}
		return o.endpointService(hcp, name, balancer), nil
	}
	svc := &corev1.Service{}
	key := client.ObjectKey{Namespace: hcp.Namespace, Name: name}
	err := o.Client.Get(ctx, key, svc)
	if apierrors.IsNotFound(err) || err == nil && (!svc.DeletionTimestamp.IsZero() || svc.Spec.Type != corev1.ServiceTypeLoadBalancer) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Service %s: %w", name, err)
	}
	balancer := balancerOf(svc)
	if balancer == "" {
		have := &hyperv1.AWSEndpointService{}
		if err := o.Client.Get(ctx, key, have); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		balancer = have.Spec.NetworkLoadBalancerName
	}
	return o.endpointService(hcp, name, balancer), nil
}

func (o *Observer) endpointService(hcp *hyperv1.HostedControlPlane, name, balancer string) *hyperv1.AWSEndpointService {
	es := &hyperv1.AWSEndpointService{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: hcp.Namespace},
		Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: balancer, ResourceTags: hcp.Spec.Platform.AWS.ResourceTags},
	}
	if cluster := hcp.Annotations[hyperv1.HostedClusterAnnotation]; cluster != "" {
		es.Annotations = map[string]string{hyperv1.HostedClusterAnnotation: cluster}
	}
	return es
}

// balancerOf returns the name of the Service's load balancer, or "".
// InfrastructureReady reports a host name that cannot be parsed.
func balancerOf(svc *corev1.Service) string {
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		if name, err := nlb.Name(ingress.Hostname); err == nil {
			return name
		}
	}
	return ""
}
