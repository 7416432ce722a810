package hostedcontrolplane

import (
	"context"
	"fmt"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureExposure makes the Services and Routes of the access mode, and prunes
// those of another mode.
func (r *Reconciler) ensureExposure(ctx context.Context, s *scope) error {
	s.objects = append(desiredServices(s.hcp, s.access), desiredRoutes(s.hcp, s.access)...)
	offered, err := r.stillOffered(ctx, s)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, exposure(s.hcp), append(offered, s.objects...)...)
	return err
}

// stillOffered are the Services that the access mode has no more and whose load
// balancers are still offered by PrivateLink. AWS deletes no such load balancer,
// and a cloud controller that is refused comes back late: the Service goes when
// its AWSEndpointService is gone, which wakes us.
func (r *Reconciler) stillOffered(ctx context.Context, s *scope) ([]client.Object, error) {
	if s.access.private {
		return nil, nil
	}
	list := &hyperv1.AWSEndpointServiceList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.hcp.Namespace)); err != nil {
		return nil, fmt.Errorf("listing AWSEndpointServices: %w", err)
	}
	before := s.access
	before.private = true
	var offered []client.Object
	for _, svc := range desiredServices(s.hcp, before) {
		if slices.ContainsFunc(list.Items, func(es hyperv1.AWSEndpointService) bool { return es.Name == svc.GetName() }) {
			offered = append(offered, svc)
		}
	}
	return offered, nil
}

// deleteExposure waits: a Service is gone when the cloud controller has
// removed its load balancer, and that AWS allows when it is not offered any more.
func (r *Reconciler) deleteExposure(ctx context.Context, s *scope) error {
	if err := r.awaitPrivateLinks(ctx, s); err != nil {
		return err
	}
	gone, err := r.apply.Delete(ctx, exposure(s.hcp))
	if err != nil {
		return err
	}
	if !gone {
		return reconcile.Wait(5*time.Second, hyperv1.DeletingReason, "waiting until Services, their load balancers and Routes are gone")
	}
	return nil
}

// awaitPrivateLinks waits for the AWSEndpointServices, which the observer of
// the private Services deletes.
func (r *Reconciler) awaitPrivateLinks(ctx context.Context, s *scope) error {
	list := &hyperv1.AWSEndpointServiceList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.hcp.Namespace)); err != nil {
		return fmt.Errorf("listing AWSEndpointServices: %w", err)
	}
	if len(list.Items) > 0 {
		return reconcile.Wait(5*time.Second, hyperv1.DeletingReason, "waiting until AWSEndpointService %s is gone; its conditions say what it waits for", list.Items[0].Name)
	}
	return nil
}

func exposure(hcp *hyperv1.HostedControlPlane) apply.Set {
	return apply.Set{
		Name: "exposure", Namespace: hcp.Namespace, Parent: hcp, Independent: true,
		Kinds: []client.ObjectList{&corev1.ServiceList{}, &routev1.RouteList{}},
	}
}

// meta is the metadata of everything that belongs to the control plane.
func metadata(hcp *hyperv1.HostedControlPlane, name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: hcp.Namespace, Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}
	if cluster := hcp.Annotations[hyperv1.HostedClusterAnnotation]; cluster != "" {
		m.Annotations[hyperv1.HostedClusterAnnotation] = cluster
	}
	return m
}
