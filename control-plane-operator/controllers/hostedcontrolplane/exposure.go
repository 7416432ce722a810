package hostedcontrolplane

import (
	"context"
	"fmt"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// recordAccess records the access mode that is served, before objects of a new path exist: after another change of the mode,
// the record shows which path machines may use.
func (r *Reconciler) recordAccess(ctx context.Context, s *scope) error {
	if s.hcp.Spec.Platform.Type == hyperv1.AWSPlatform {
		before, served := s.hcp.Status.ServedEndpointAccess, servedAccess(s.hcp)
		s.hcp.Status.ServedEndpointAccess = served
		if before != "" && before != served {
			if err := s.status.Write(ctx); err != nil {
				return err
			}
		}
	}
	s.access = accessOf(s.hcp, r.ServesRoutes)
	return nil
}

// ensureExposure applies the Services and Routes of the access mode, and prunes the ones of another mode.
func (r *Reconciler) ensureExposure(ctx context.Context, s *scope) error {
	s.objects = append(desiredServices(s.hcp, s.access, r.LoadBalancers), desiredRoutes(s.hcp, s.access)...)
	offered, err := r.stillOffered(ctx, s)
	if err != nil {
		return err
	}
	if err := r.keepControllers(ctx, slices.Concat(offered, s.objects)); err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, exposure(s.hcp), append(offered, s.objects...)...)
	return err
}

// stillOffered returns the Services that the access mode no longer has, but with load balancers that PrivateLink
// still offers. AWS does not delete such a load balancer, and a cloud controller retries late after an error. The Service
// is deleted after its AWSEndpointService. That deletion triggers a reconcile. The public load balancer of the same router stays as long,
// because clients may still have its addresses.
func (r *Reconciler) stillOffered(ctx context.Context, s *scope) ([]client.Object, error) {
	if s.access.private && !s.access.dropped && !s.access.shared {
		return nil, nil
	}
	list := &hyperv1.AWSEndpointServiceList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.hcp.Namespace)); err != nil {
		return nil, fmt.Errorf("listing AWSEndpointServices: %w", err)
	}
	before := s.access
	before.private, before.dropped, before.shared = true, false, false
	var offered []client.Object
	for _, svc := range desiredServices(s.hcp, before, r.LoadBalancers) {
		name := svc.GetName()
		if s.access.shared && name == names.Router {
			name = names.PrivateRouter
		}
		if slices.ContainsFunc(list.Items, func(es hyperv1.AWSEndpointService) bool { return es.Name == name }) {
			offered = append(offered, svc)
		}
	}
	return offered, nil
}

// keepControllers keeps the class and type, which select the controller of an existing load balancer. The API server refuses another class,
// and with another type the controller that created the load balancer would leave it in AWS. A class that is not set here
// may have been set by the webhook of a controller.
func (r *Reconciler) keepControllers(ctx context.Context, desired []client.Object) error {
	for _, obj := range desired {
		svc, ok := obj.(*corev1.Service)
		if !ok || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		live := &corev1.Service{}
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(svc), live); err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return fmt.Errorf("reading Service %s: %w", svc.Name, err)
		}
		if live.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		svc.Spec.LoadBalancerClass = live.Spec.LoadBalancerClass
		if value, ok := live.Annotations[loadbalancers.Type]; ok {
			svc.Annotations[loadbalancers.Type] = value
		}
	}
	return nil
}

// deleteExposure deletes the Services and waits. A finalizer keeps a Service until the cloud controller has deleted its
// load balancer, which AWS allows only when it is no longer offered.
func (r *Reconciler) deleteExposure(ctx context.Context, s *scope) error {
	if err := r.awaitPrivateLinks(ctx, s); err != nil {
		return err
	}
	deleted, err := r.apply.Delete(ctx, exposure(s.hcp))
	if err != nil {
		return err
	}
	if !deleted {
		return reconcile.Wait(5*time.Second, hyperv1.DeletingReason, "waiting for the deletion of Services, their load balancers and Routes")
	}
	return nil
}

// awaitPrivateLinks waits for the deletion of the AWSEndpointServices, which the awsprivatelink observer deletes.
func (r *Reconciler) awaitPrivateLinks(ctx context.Context, s *scope) error {
	list := &hyperv1.AWSEndpointServiceList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.hcp.Namespace)); err != nil {
		return fmt.Errorf("listing AWSEndpointServices: %w", err)
	}
	if len(list.Items) > 0 {
		return reconcile.Wait(5*time.Second, hyperv1.DeletingReason, "waiting for the deletion of AWSEndpointService %s; see its conditions for the reason", list.Items[0].Name)
	}
	return nil
}

func exposure(hcp *hyperv1.HostedControlPlane) apply.Set {
	return apply.Set{
		Name: "exposure", Namespace: hcp.Namespace, Parent: hcp, Independent: true,
		Kinds: []client.ObjectList{&corev1.ServiceList{}, &routev1.RouteList{}},
	}
}

// metadata returns the metadata of every object of the control plane.
func metadata(hcp *hyperv1.HostedControlPlane, name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: hcp.Namespace, Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}
	if cluster := hcp.Annotations[hyperv1.HostedClusterAnnotation]; cluster != "" {
		m.Annotations[hyperv1.HostedClusterAnnotation] = cluster
	}
	return m
}
