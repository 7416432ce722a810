package aws

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/nlb"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// Clusters with the shared router share one endpoint service: AWS refuses a second service for a load balancer. It exists as long as one of
// them does. Each customer may connect to it; the router finds the cluster of a connection by the id of the endpoint (package sharedrouter).

// isShared is true for an object that is connected to the shared router.
func isShared(es *hyperv1.AWSEndpointService) bool {
	return es.Name == sharedrouter.EndpointService
}

// ownerOf returns the owner of the endpoint service of an object.
func (r *Reconciler) ownerOf(ctx context.Context, s *scope) (endpointservice.Owner, error) {
	if isShared(s.es) {
		installation, err := sharedrouter.Installation(ctx, r.Reader, r.Namespace)
		return endpointservice.Owner{UID: installation, Role: sharedrouter.EndpointServiceRole}, err
	}
	return endpointservice.Owner{UID: string(s.hcp.UID), Role: serviceRole(s.es)}, nil
}

// ensureOffered makes AWS have the endpoint service. One reconcile at a time changes the shared service: an older list of its principals must
// not replace a newer one.
func (r *Reconciler) ensureOffered(ctx context.Context, s *scope, recorded string) (endpointservice.Service, error) {
	owner, err := r.ownerOf(ctx, s)
	if err != nil {
		return endpointservice.Service{}, err
	}
	if !isShared(s.es) {
		return r.Services.Ensure(ctx, desiredService(s, owner, recorded))
	}
	r.shared.Lock()
	defer r.shared.Unlock()
	others, err := r.members(ctx, s.es)
	if err != nil {
		return endpointservice.Service{}, err
	}
	mine := s.hc.Spec.Platform.AWS
	spec := desiredShared(owner, s.balancer.ARN, append(others.platforms, mine))
	spec.Recorded, spec.Request = recorded, string(s.es.UID)+"/"+recorded
	// A principal that AWS refuses is the fault of the cluster that names it.
	spec.Optional = slices.DeleteFunc(slices.Clone(spec.Principals), func(p string) bool { return slices.Contains(desiredPrincipals(mine), p) })
	return r.Services.Ensure(ctx, spec)
}

func desiredShared(owner endpointservice.Owner, balancer string, platforms []*hyperv1.AWSPlatformSpec) endpointservice.Spec {
	var principals []string
	for _, p := range platforms {
		principals = append(principals, desiredPrincipals(p)...)
	}
	slices.Sort(principals)
	return endpointservice.Spec{
		Owner: owner, LoadBalancerARN: balancer, Principals: slices.Compact(principals),
		// No cluster owns it.
		Tags: awsx.Tags{awsx.NameTag: sharedrouter.EndpointService, awsx.OwnerTag: owner.UID, awsx.RoleTag: owner.Role},
	}
}

// members are the other clusters that are connected to the shared endpoint service.
type members struct {
	count int
	// platforms are those of clusters that can be read. The endpoints of the others stay connected: AWS asks for a principal only when an
	// endpoint is made.
	platforms []*hyperv1.AWSPlatformSpec
}

// members reads the cache without copies, because each of them calls it: the result must not be changed. A principal alone reaches no cluster, so
// that the namespaces are not compared with their owners.
func (r *Reconciler) members(ctx context.Context, except *hyperv1.AWSEndpointService) (members, error) {
	var all members
	var connected hyperv1.AWSEndpointServiceList
	if err := r.Client.List(ctx, &connected, client.UnsafeDisableDeepCopy); err != nil {
		return all, fmt.Errorf("listing AWSEndpointServices: %w", err)
	}
	namespaces := map[string]bool{}
	for i := range connected.Items {
		if es := &connected.Items[i]; isShared(es) && es.UID != except.UID && es.DeletionTimestamp.IsZero() {
			all.count++
			namespaces[es.Namespace] = true
		}
	}
	var clusters hyperv1.HostedClusterList
	if err := r.Client.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return all, fmt.Errorf("listing HostedClusters: %w", err)
	}
	for i := range clusters.Items {
		hc := &clusters.Items[i]
		if namespaces[names.ControlPlaneNamespace(hc.Namespace, hc.Name)] && hc.Unreadable() == "" && hc.Spec.Platform.AWS != nil {
			all.platforms = append(all.platforms, hc.Spec.Platform.AWS)
		}
	}
	return all, nil
}

// leaveShared takes the principals of a cluster from the shared endpoint service, and rejects its endpoints that are still connected. The last
// cluster deletes the service.
func (r *Reconciler) leaveShared(ctx context.Context, s *scope) (remaining endpointservice.Remaining, err error) {
	owner, err := r.ownerOf(ctx, s)
	if err != nil {
		return remaining, err
	}
	r.shared.Lock()
	defer r.shared.Unlock()
	others, err := r.members(ctx, s.es)
	if err != nil {
		return remaining, err
	}
	if others.count == 0 {
		return r.Services.Delete(ctx, endpointservice.Deletion{Owner: owner, RejectConnections: true})
	}
	endpoints, err := r.endpointsOf(ctx, s.es.Namespace)
	if err != nil {
		return remaining, err
	}
	if err := r.Services.Reject(ctx, owner, endpoints); err != nil {
		return remaining, err
	}
	balancer, err := r.sharedBalancer(ctx)
	if err != nil || balancer.ARN == "" {
		return remaining, err // its principals go with the next change of another cluster
	}
	spec := desiredShared(owner, balancer.ARN, others.platforms)
	spec.Optional = spec.Principals
	_, err = r.Services.Ensure(ctx, spec)
	return remaining, err
}

// sharedBalancer returns the load balancer of the shared router, without an ARN if there is none that can be used.
func (r *Reconciler) sharedBalancer(ctx context.Context) (loadbalancer.LoadBalancer, error) {
	found, err := sharedrouter.Find(ctx, r.Reader, r.Namespace)
	if err != nil || found.Private == "" {
		return loadbalancer.LoadBalancer{}, err
	}
	name, err := nlb.Name(found.Private)
	if err != nil {
		return loadbalancer.LoadBalancer{}, nil // a load balancer of another kind has no endpoint service
	}
	balancer, exists, err := r.LoadBalancers.Find(ctx, name)
	if err != nil || !exists || !balancer.Serves() {
		return loadbalancer.LoadBalancer{}, err
	}
	return balancer, nil
}

// endpointsOf returns the endpoints that the shared router has for a cluster. The object itself names one, but the tenant's operator may write
// it.
func (r *Reconciler) endpointsOf(ctx context.Context, namespace string) ([]string, error) {
	config := &corev1.ConfigMap{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: sharedrouter.Public}, config)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting the configuration of the shared router: %w", err)
	}
	var endpoints []string
	for endpoint, owner := range sharedrouter.Owners(config.Data) {
		if owner == namespace {
			endpoints = append(endpoints, endpoint)
		}
	}
	return endpoints, nil
}

// balancerService returns the key of the Service whose load balancer an object may offer.
func (r *Reconciler) balancerService(s *scope) (client.ObjectKey, error) {
	switch {
	case !isShared(s.es):
		return client.ObjectKeyFromObject(s.es), nil
	case !r.SharedRouter:
		return client.ObjectKey{}, reconcile.Block(hyperv1.LoadBalancerForeignReason,
			"this installation has no shared router: enable it (sharedRouter.enabled of the chart), or remove annotation %s of the HostedCluster", hyperv1.SharedRouterAnnotation)
	}
	return client.ObjectKey{Namespace: r.Namespace, Name: sharedrouter.Private}, nil
}
