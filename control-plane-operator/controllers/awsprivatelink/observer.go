package awsprivatelink

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
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
	for _, name := range current {
		es, err := o.desired(ctx, hcp, name)
		if err != nil {
			return nil, 0, err
		}
		if es != nil {
			want = append(want, es)
		}
	}
	for _, name := range former {
		have := &hyperv1.AWSEndpointService{}
		err := o.Client.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: name}, have)
		if apierrors.IsNotFound(err) || err == nil && !have.DeletionTimestamp.IsZero() {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("reading AWSEndpointService %s: %w", name, err)
		}
		remaining, err := o.untilMoved(ctx, hcp, want)
		if err != nil || remaining <= 0 {
			return want, 0, err
		}
		// The cache of other objects may be older than the annotation of the HostedControlPlane.
		return append(want, o.endpointService(hcp, name, have.Spec.NetworkLoadBalancerName)), remaining, nil
	}
	return want, 0, nil
}

const (
	// minMove is how long the former endpoint stays at least after the new one is available: as long as clients may have a public record of
	// external-dns, which writes it within a minute.
	minMove = 2 * time.Minute
	// pollMove is how often a new endpoint is looked at.
	pollMove = 5 * time.Second
)

// untilMoved returns how long former endpoints are still needed: twice the time for which resolvers may have the records, after the new ones
// have become available.
func (o *Observer) untilMoved(ctx context.Context, hcp *hyperv1.HostedControlPlane, current []client.Object) (time.Duration, error) {
	if len(current) == 0 {
		return pollMove, nil
	}
	var remaining time.Duration
	for _, obj := range current {
		live := &hyperv1.AWSEndpointService{}
		if err := o.Client.Get(ctx, client.ObjectKeyFromObject(obj), live); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("reading AWSEndpointService %s: %w", obj.GetName(), err)
		}
		available := meta.FindStatusCondition(live.Status.Conditions, hyperv1.AWSEndpointAvailable)
		if available == nil || available.Status != metav1.ConditionTrue {
			return pollMove, nil
		}
		stays := max(2*cmp.Or(hcp.PrivateRecordTTL(), records.DefaultTTL), minMove)
		remaining = max(remaining, stays-o.Clock.Since(available.LastTransitionTime.Time))
	}
	return remaining, nil
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
