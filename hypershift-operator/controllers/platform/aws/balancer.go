package aws

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/nlb"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkBalancer lets an object offer the load balancer of the Service of its
// own name and no other: the account contains the load balancers of all clusters,
// and the tenant's operator writes the spec. Only the cloud provider writes the
// status of a Service. It is read from the API server: a cache of Services
// would hold all Services of the management cluster.
func (r *Reconciler) checkBalancer(ctx context.Context, s *scope) error {
	svc, name := &corev1.Service{}, s.es.Spec.NetworkLoadBalancerName
	key, err := r.balancerService(s)
	if err != nil {
		return err
	}
	err = r.Reader.Get(ctx, key, svc)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting Service %s: %w", key.Name, err)
	}
	if err != nil || !leadsTo(svc, name) {
		return reconcile.Wait(r.ledger.Delay(s, slow), hyperv1.LoadBalancerForeignReason,
			"load balancer %s is not the one of Service %s in namespace %s, and no other may be offered", name, key.Name, key.Namespace)
	}
	return nil
}

// leadsTo is true if the Service has that load balancer.
func leadsTo(svc *corev1.Service, balancer string) bool {
	return svc.Spec.Type == corev1.ServiceTypeLoadBalancer && slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(in corev1.LoadBalancerIngress) bool {
		name, err := nlb.Name(in.Hostname)
		return err == nil && name == balancer
	})
}

func (r *Reconciler) activeLoadBalancer(ctx context.Context, s *scope) (loadbalancer.LoadBalancer, error) {
	name := s.es.Spec.NetworkLoadBalancerName
	lb, found, err := r.LoadBalancers.Find(ctx, name)
	switch {
	case err != nil:
		return lb, err
	case !found:
		return lb, reconcile.Wait(r.ledger.Delay(s, slow), hyperv1.LoadBalancerNotFoundReason, "load balancer %s is not in this account and region (yet)", name)
	case !lb.Network:
		return lb, reconcile.Wait(r.ledger.Delay(s, slow), hyperv1.LoadBalancerUnusableReason, "load balancer %s is not a network load balancer; annotate its Service so that the cloud provider makes one", name)
	case !lb.Serves():
		return lb, reconcile.Wait(r.ledger.Delay(s, slow), hyperv1.LoadBalancerNotActiveReason, "load balancer %s is %s", name, lb.State)
	}
	return lb, nil
}
