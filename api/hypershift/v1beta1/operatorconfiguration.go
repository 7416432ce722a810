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

	// ingressOperator configures the operator of the routes of applications.
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
	// disableMultiNetwork leaves out Multus, and with it additional networks of pods. Only for networkType Other.
	//
	// +optional
	DisableMultiNetwork *bool `json:"disableMultiNetwork,omitempty"`

	// ovnKubernetesConfig configures OVN-Kubernetes. Only for networkType OVNKubernetes.
	//
	// +optional
	OVNKubernetesConfig *OVNKubernetesConfig `json:"ovnKubernetesConfig,omitempty"`
}

// OVNKubernetesConfig configures OVN-Kubernetes.
type OVNKubernetesConfig struct {
	// ipv4 configures the internal addresses of OVN-Kubernetes.
	//
	// +optional
	IPv4 *OVNIPv4Config `json:"ipv4,omitempty"`

	// mtu is the maximum packet size of the pods' network. The default is derived from the machines' network.
	//
	// +optional
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9216
	MTU int32 `json:"mtu,omitempty"`
}

// OVNIPv4Config configures the internal addresses of OVN-Kubernetes.
//
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

// IngressOperatorSpec configures the ingress operator.
type IngressOperatorSpec struct {
	// endpointPublishingStrategy defines how the default ingress controller is published. The default depends on the
	// platform. A change changes the address of the applications.
	//
	// +optional
	EndpointPublishingStrategy *operatorv1.EndpointPublishingStrategy `json:"endpointPublishingStrategy,omitempty"`
}
