package awsprivatelink

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/nlb"
)

// offered are the Services whose load balancers are offered to the customer.
var offered = []string{names.KubeAPIServerPrivate, names.PrivateRouter}

// Observer keeps an AWSEndpointService for each offered Service that has a
// load balancer, as long as the cluster is private. What it no longer wants is
// deleted, so a change of the access mode needs no restart.
type Observer struct {
	Options
	apply *apply.Applier
}

// NewObserver returns an Observer.
func NewObserver(opts Options) *Observer {
	return &Observer{Options: opts, apply: apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator)}
}

// Reconcile compares the AWSEndpointServices of a control plane with its Services.
func (o *Observer) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	deleting := !hcp.DeletionTimestamp.IsZero()
	paused, remaining := hcp.Spec.PausedUntil.Paused(o.Clock.Now())
	if hcp.Unreadable() != "" || paused && !deleting {
		return ctrl.Result{RequeueAfter: remaining}, nil
	}
	var want []client.Object
	if hcp.Spec.Platform.PrivateLink() && !deleting {
		for _, name := range offered {
			es, err := o.desired(ctx, hcp, name)
			if err != nil {
				return ctrl.Result{}, err
			}
			if es != nil {
				want = append(want, es)
			}
		}
	}
	_, err := o.apply.Apply(ctx, endpointServices(hcp), want...)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: time.Second}, nil // the newer object is on its way
	}
	return ctrl.Result{}, err
}

func endpointServices(hcp *hyperv1.HostedControlPlane) apply.Set {
	return apply.Set{Name: "endpoint-services", Namespace: hcp.Namespace, Kinds: []client.ObjectList{&hyperv1.AWSEndpointServiceList{}}, Parent: hcp}
}

// desired returns the AWSEndpointService of the named Service, or nil if there
// is nothing to offer. One that is there keeps its load balancer while the
// Service does not tell of one that can be used: a moment without a status is
// no reason to cut the workers off.
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

// balancerOf returns the name of the Service's load balancer, or "". That a
// host name cannot be understood is told by InfrastructureReady.
func balancerOf(svc *corev1.Service) string {
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		if name, err := nlb.Name(ingress.Hostname); err == nil {
			return name
		}
	}
	return ""
}
