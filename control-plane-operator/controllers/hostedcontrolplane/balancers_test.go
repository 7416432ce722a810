package hostedcontrolplane

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const (
	// balancerFinalizer is the finalizer of a cloud controller on a Service.
	balancerFinalizer = "service.kubernetes.io/load-balancer-cleanup"
	// roundsToGo is the number of rounds that AWS needs to delete a load balancer.
	roundsToGo = 3
)

// allocatedPort is the node port that the management cluster allocates.
const allocatedPort = 30123

// cloudController creates a load balancer for every LoadBalancer Service, and keeps the Service until the load balancer
// is deleted. It also allocates node ports.
func (e *fakeCloudController) cloudController(ctx context.Context) error {
	list := &corev1.ServiceList{}
	if err := e.Admin().List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		svc := &list.Items[i]
		var err error
		if svc.Spec.Type == corev1.ServiceTypeNodePort && svc.Spec.Ports[0].NodePort == 0 {
			svc.Spec.Ports[0].NodePort = allocatedPort
			if err := e.Admin().Update(ctx, svc); err != nil {
				return err
			}
		}
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.DeletionTimestamp.IsZero() {
			err = e.balance(ctx, svc)
		} else {
			err = e.release(ctx, svc)
		}
		if err != nil {
			return fmt.Errorf("load balancer of Service %s: %w", svc.Name, err)
		}
	}
	return nil
}

// balance creates the load balancer and publishes its address.
func (e *fakeCloudController) balance(ctx context.Context, svc *corev1.Service) error {
	if controllerutil.AddFinalizer(svc, balancerFinalizer) {
		if err := e.Admin().Update(ctx, svc); err != nil {
			return err
		}
	}
	if e.slow[svc.Name] != "" {
		return nil
	}
	e.balancers[svc.Name] = roundsToGo
	return e.tell(ctx, svc, corev1.LoadBalancerIngress{Hostname: "a-" + svc.Name + "-0123456789abcdef.elb.us-east-1.amazonaws.com"})
}

// release deletes the load balancer. It stops when the control plane is gone, because the operators that delete AWS
// resources are gone then.
func (e *fakeCloudController) release(ctx context.Context, svc *corev1.Service) error {
	err := e.Admin().Get(ctx, client.ObjectKeyFromObject(controlPlane("", hyperv1.Route)), &hyperv1.HostedControlPlane{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if e.balancers[svc.Name]--; e.balancers[svc.Name] > 0 {
		return nil
	}
	delete(e.balancers, svc.Name)
	if err := e.tell(ctx, svc); err != nil {
		return err
	}
	if !controllerutil.RemoveFinalizer(svc, balancerFinalizer) {
		return nil
	}
	return e.Admin().Update(ctx, svc)
}

// tell writes the address of the load balancer.
func (e *fakeCloudController) tell(ctx context.Context, svc *corev1.Service, at ...corev1.LoadBalancerIngress) error {
	same := func(a, b corev1.LoadBalancerIngress) bool { return a.Hostname == b.Hostname }
	if slices.EqualFunc(at, svc.Status.LoadBalancer.Ingress, same) {
		return nil
	}
	svc.Status.LoadBalancer.Ingress = at
	return e.Admin().Status().Update(ctx, svc)
}

// cloud returns the resources in AWS as text.
func (e *fakeCloudController) cloud() string { return fmt.Sprintln("load balancers:", e.balancers) }
