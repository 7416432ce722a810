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

// ensureExposure applies the Services and Routes of the access mode, and prunes the ones of another mode.
func (r *Reconciler) ensureExposure(ctx context.Context, s *scope) error {
	s.objects = append(desiredServices(s.hcp, s.access), desiredRoutes(s.hcp, s.access)...)
	offered, err := r.stillOffered(ctx, s)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, exposure(s.hcp), append(offered, s.objects...)...)
	return err
}

// stillOffered returns the Services that the access mode no longer has, but with load balancers that PrivateLink
// still offers. AWS does not delete such a load balancer, and a cloud controller retries late after an error. The Service
// is deleted after its AWSEndpointService. That deletion triggers a reconcile.
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

// deleteExposure deletes the Services and waits. A finalizer keeps a Service until the cloud controller has deleted its
// load balancer, which AWS allows only when it is no longer offered.
func (r *Reconciler) deleteExposure(ctx context.Context, s *scope) error {
	if err := r.awaitPrivateLinks(ctx, s); err != nil {
		return err
	}
	gone, err := r.apply.Delete(ctx, exposure(s.hcp))
	if err != nil {
		return err
	}
	if !gone {
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
