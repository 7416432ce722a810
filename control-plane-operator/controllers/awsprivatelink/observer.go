package awsprivatelink

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/nlb"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// offered are the names of Services with load balancers for the customer.
var offered = []string{names.KubeAPIServerPrivate, names.PrivateRouter}

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

// ensureEndpointServices compares the AWSEndpointServices of a control plane with its Services.
func (o *Observer) ensureEndpointServices(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	var want []client.Object
	if hcp.Spec.Platform.Type == hyperv1.AWSPlatform && hcp.ServedAccess().Has(hyperv1.Private) && hcp.DeletionTimestamp.IsZero() && !target.DropsLoadBalancers(hcp) {
		for _, name := range offered {
			es, err := o.desired(ctx, hcp, name)
			if err != nil {
				return err
			}
			if es != nil {
				want = append(want, es)
			}
		}
	}
	_, err := o.apply.Apply(ctx, endpointServices(hcp), want...)
	if apierrors.IsConflict(err) {
		return reconcile.Wait(time.Second, hyperv1.WaitingForReason, "waiting for the cache to have the newer AWSEndpointService")
	}
	return err
}

func endpointServices(hcp *hyperv1.HostedControlPlane) apply.Set {
	return apply.Set{Name: "endpoint-services", Namespace: hcp.Namespace, Kinds: []client.ObjectList{&hyperv1.AWSEndpointServiceList{}}, Parent: hcp}
}

// desired returns the AWSEndpointService of the named Service, or nil without a load balancer to
// offer. An existing AWSEndpointService keeps its load balancer while the status of the Service has
// none that can be used: a moment without a status must not disconnect the workers.
func (o *Observer) desired(ctx context.Context, hcp *hyperv1.HostedControlPlane, name string) (*hyperv1.AWSEndpointService, error) {
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
	es := &hyperv1.AWSEndpointService{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: hcp.Namespace},
		Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: balancer, ResourceTags: hcp.Spec.Platform.AWS.ResourceTags},
	}
	if cluster := hcp.Annotations[hyperv1.HostedClusterAnnotation]; cluster != "" {
		es.Annotations = map[string]string{hyperv1.HostedClusterAnnotation: cluster}
	}
	return es, nil
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
