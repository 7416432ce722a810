package hostedcontrolplane

import (
	"context"
	"fmt"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// admitRoutes writes the router's address to the status of its Routes. external-dns and users read it, as for every
// router.
func (r *Reconciler) admitRoutes(ctx context.Context, s *scope) error {
	for _, obj := range s.objects {
		route, ok := obj.(*routev1.Route)
		if !ok || route.Labels[hyperv1.HCPRouteLabel] == "" {
			continue
		}
		host, err := r.routerHost(ctx, s, route)
		if err != nil {
			return err
		}
		if host == "" {
			continue // keep the status until the address is known
		}
		if err := r.admit(ctx, route, host); err != nil {
			return err
		}
	}
	return nil
}

// routerHost returns the host name of the load balancer of a Route, or "".
func (r *Reconciler) routerHost(ctx context.Context, s *scope, route *routev1.Route) (string, error) {
	private := route.Labels[hyperv1.InternalRouteLabel] != "" && s.access.private
	by := ""
	if s.access.private && s.access.apiRoute {
		var err error
		if by, s.publishAfter, err = publishing.Router(ctx, r.Client, s.hcp, r.Clock.Now()); err != nil {
			return "", err
		}
	}
	switch shared := sharedrouter.Of(s.hcp); {
	case by == sharedrouter.EndpointService && private:
		return shared.Private, nil // "" while the control plane leaves it: the status is kept
	case by == sharedrouter.EndpointService:
		return shared.Public, nil
	case private:
		return r.balancerHost(ctx, s.hcp.Namespace, names.PrivateRouter)
	}
	return r.balancerHost(ctx, s.hcp.Namespace, names.Router)
}

func (r *Reconciler) admit(ctx context.Context, want *routev1.Route, host string) error {
	live := &routev1.Route{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return client.IgnoreNotFound(err) // the cache does not have it yet; its arrival triggers a reconcile
	}
	at := slices.IndexFunc(live.Status.Ingress, isOurs)
	if at >= 0 && live.Status.Ingress[at].Host == want.Spec.Host && live.Status.Ingress[at].RouterCanonicalHostname == host {
		return nil
	}
	changed := live.DeepCopy()
	changed.Status.Ingress = append(slices.DeleteFunc(changed.Status.Ingress, isOurs), routev1.RouteIngress{
		Host: want.Spec.Host, RouterName: names.Router, RouterCanonicalHostname: host, WildcardPolicy: routev1.WildcardPolicyNone,
		Conditions: []routev1.RouteIngressCondition{{
			Type: routev1.RouteAdmitted, Status: corev1.ConditionTrue, LastTransitionTime: ptr.To(metav1.NewTime(r.Clock.Now())),
		}},
	})
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("admitting Route %s: %w", want.Name, err)
	}
	return nil
}

// isOurs is true for the admission by the router of the control plane.
func isOurs(i routev1.RouteIngress) bool { return i.RouterName == names.Router }
