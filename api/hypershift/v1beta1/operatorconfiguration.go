package v1beta1

import operatorv1 "github.com/openshift/api/operator/v1"

// OperatorConfiguration configures operators of the hosted cluster.
type OperatorConfiguration struct {
	// clusterVersionOperator configures the cluster-version-operator, which applies a release.
	//
	// +optional
	ClusterVersionOperator *ClusterVersionOperatorSpec `json:"clusterVersionOperator,omitempty"`

	// clusterNetworkOperator configures the operator of the network plugin.
	//
	// +optional
	ClusterNetworkOperator *ClusterNetworkOperatorSpec `json:"clusterNetworkOperator,omitempty"`

	// ingressOperator configures the ingress controller, if capabilities enables Ingress.
	//
	// +optional
	IngressOperator *IngressOperatorSpec `json:"ingressOperator,omitempty"`
}

// ClusterVersionOperatorSpec configures the cluster-version-operator.
type ClusterVersionOperatorSpec struct {
	// operatorLogLevel is the verbosity of the operator's log.
	//
	// +optional
	// +kubebuilder:validation:Enum=Normal;Debug;Trace;TraceAll
	OperatorLogLevel operatorv1.LogLevel `json:"operatorLogLevel,omitempty"`
}

// ClusterNetworkOperatorSpec configures the cluster-network-operator.
type ClusterNetworkOperatorSpec struct {
	// disableMultiNetwork leaves out Multus, and with it additional networks of pods. Only for networkType Other. It
	// cannot be changed.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="disableMultiNetwork cannot be changed"
	DisableMultiNetwork *bool `json:"disableMultiNetwork,omitempty"`

	// ovnKubernetesConfig configures OVN-Kubernetes. Only for networkType OVNKubernetes.
	//
	// +optional
	OVNKubernetesConfig *OVNKubernetesConfig `json:"ovnKubernetesConfig,omitempty"`
}

// OVNKubernetesConfig configures OVN-Kubernetes. The internal ranges must not overlap with each other, nor with another
// range of the cluster or of its machines.
//
// The rules here are for fields that can be neither changed nor removed once they are set: the nodes have addresses of
// these ranges.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.mtu) || (has(self.mtu) && self.mtu == oldSelf.mtu)",message="mtu, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.v4InternalSubnet) || (has(self.v4InternalSubnet) && self.v4InternalSubnet == oldSelf.v4InternalSubnet)",message="v4InternalSubnet, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.v6InternalSubnet) || (has(self.v6InternalSubnet) && self.v6InternalSubnet == oldSelf.v6InternalSubnet)",message="v6InternalSubnet, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.ipv6) || !has(oldSelf.ipv6.internalJoinSubnet) || (has(self.ipv6) && has(self.ipv6.internalJoinSubnet) && self.ipv6.internalJoinSubnet == oldSelf.ipv6.internalJoinSubnet)",message="ipv6.internalJoinSubnet, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.ipv6) || !has(oldSelf.ipv6.internalTransitSwitchSubnet) || (has(self.ipv6) && has(self.ipv6.internalTransitSwitchSubnet) && self.ipv6.internalTransitSwitchSubnet == oldSelf.ipv6.internalTransitSwitchSubnet)",message="ipv6.internalTransitSwitchSubnet, once set, can be neither changed nor removed"
type OVNKubernetesConfig struct {
	// ipv4 configures the internal IPv4 addresses of OVN-Kubernetes.
	//
	// +optional
	IPv4 *OVNIPv4Config `json:"ipv4,omitempty"`

	// ipv6 configures the internal IPv6 addresses of OVN-Kubernetes.
	//
	// +optional
	IPv6 *OVNIPv6Config `json:"ipv6,omitempty"`

	// v4InternalSubnet is the IPv4 range of the ports of gateway routers, and of translated addresses. The default is
	// 100.64.0.0/16.
	//
	// +optional
	V4InternalSubnet OVNSubnet `json:"v4InternalSubnet,omitempty"`

	// v6InternalSubnet is the IPv6 range of the ports of gateway routers, and of translated addresses. The default is
	// fd98::/64.
	//
	// +optional
	V6InternalSubnet OVNIPv6Subnet `json:"v6InternalSubnet,omitempty"`

	// mtu is the maximum packet size of the pods' network. The default is derived from the machines' network.
	//
	// +optional
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9216
	MTU int32 `json:"mtu,omitempty"`
}

// OVNIPv4Config configures the internal IPv4 addresses of OVN-Kubernetes.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.internalJoinSubnet) || !has(self.internalTransitSwitchSubnet) || self.internalJoinSubnet != self.internalTransitSwitchSubnet",message="internalJoinSubnet and internalTransitSwitchSubnet must differ"
type OVNIPv4Config struct {
	// internalTransitSwitchSubnet is the range of the switch between nodes. The default is 100.88.0.0/16.
	//
	// +optional
	InternalTransitSwitchSubnet OVNSubnet `json:"internalTransitSwitchSubnet,omitempty"`

	// internalJoinSubnet is the range of the switch inside a node. The default is 100.64.0.0/16.
	//
	// +optional
	InternalJoinSubnet OVNSubnet `json:"internalJoinSubnet,omitempty"`
}

// OVNSubnet is an IPv4 range with room for the cluster's nodes.
//
// +kubebuilder:validation:MinLength=9
// +kubebuilder:validation:MaxLength=18
// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="must be an IPv4 range such as 100.64.0.0/16"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() <= 30",message="must have a prefix of at most 30"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || !self.startsWith('0.')",message="must not begin with 0"
type OVNSubnet string

// OVNIPv6Config configures the internal IPv6 addresses of OVN-Kubernetes.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.internalJoinSubnet) || !has(self.internalTransitSwitchSubnet) || self.internalJoinSubnet != self.internalTransitSwitchSubnet",message="internalJoinSubnet and internalTransitSwitchSubnet must differ"
type OVNIPv6Config struct {
	// internalTransitSwitchSubnet is the range of the switch between nodes. The default is fd97::/64.
	//
	// +optional
	InternalTransitSwitchSubnet OVNIPv6Subnet `json:"internalTransitSwitchSubnet,omitempty"`

	// internalJoinSubnet is the range of the switch inside a node. The default is fd98::/64.
	//
	// +optional
	InternalJoinSubnet OVNIPv6Subnet `json:"internalJoinSubnet,omitempty"`
}

// OVNIPv6Subnet is an IPv6 range with room for the cluster's nodes.
//
// +kubebuilder:validation:MinLength=4
// +kubebuilder:validation:MaxLength=48
// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 6",message="must be an IPv6 range such as fd98::/64"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() <= 125",message="must have a prefix of at most 125"
type OVNIPv6Subnet string

// IngressOperatorSpec configures the ingress controller.
type IngressOperatorSpec struct {
	// endpointPublishingStrategy defines how the ingress controller is published. The default is LoadBalancerService, with a network load
	// balancer that is internal for a private cluster. A change changes the address of the applications.
	//
	// +optional
	EndpointPublishingStrategy *operatorv1.EndpointPublishingStrategy `json:"endpointPublishingStrategy,omitempty"`
}
