package v1beta1

import (
	"cmp"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// HasIngress reports whether the cluster is to have the ingress controller of its release.
func (in *HostedControlPlane) HasIngress() bool {
	return in.Spec.Capabilities.Enables(IngressCapability)
}

// MayHaveIngress reports whether the cluster has or had an ingress controller, with a load balancer that the deletion of the cluster removes.
func (in *HostedControlPlane) MayHaveIngress() bool {
	return in.HasIngress() || in.Status.Ingress != nil
}

// An IngressPublishing defines how the ingress controller of a cluster is published.
type IngressPublishing struct {
	// Type is LoadBalancerService, NodePortService or Private.
	Type operatorv1.EndpointPublishingStrategyType
	// Internal is true if only the network of the nodes reaches the load balancer.
	Internal bool
	// LoadBalancer holds the user's settings of the load balancer, which may be empty.
	LoadBalancer operatorv1.LoadBalancerStrategy
}

// IngressPublishing returns how the ingress controller is published. The default is a load balancer, which the internet reaches unless the
// cluster is private. HostNetwork, which no release of Kubernetes offers, is NodePortService.
func (in *HostedControlPlane) IngressPublishing() IngressPublishing {
	p := IngressPublishing{Type: operatorv1.LoadBalancerServiceStrategyType}
	p.Internal = in.Spec.Platform.AWS != nil && in.Spec.Platform.AWS.EndpointAccess == Private
	strategy := in.Spec.OperatorConfiguration.endpointPublishingStrategy()
	if strategy == nil {
		return p
	}
	p.Type = cmp.Or(strategy.Type, p.Type)
	if p.Type == operatorv1.HostNetworkStrategyType {
		p.Type = operatorv1.NodePortServiceStrategyType
	}
	if strategy.LoadBalancer != nil {
		p.LoadBalancer = *strategy.LoadBalancer
		if scope := strategy.LoadBalancer.Scope; scope != "" {
			p.Internal = scope == operatorv1.InternalLoadBalancer
		}
	}
	return p
}

// HasRecords reports whether the names of the applications lead to the load balancer.
func (in IngressPublishing) HasRecords() bool {
	return in.Type == operatorv1.LoadBalancerServiceStrategyType && in.LoadBalancer.DNSManagementPolicy != operatorv1.UnmanagedLoadBalancerDNS
}

func (in *OperatorConfiguration) endpointPublishingStrategy() *operatorv1.EndpointPublishingStrategy {
	if in == nil || in.IngressOperator == nil {
		return nil
	}
	return in.IngressOperator.EndpointPublishingStrategy
}
