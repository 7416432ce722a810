package v1beta1

import "net/netip"

// NetworkType is the network plugin of the hosted cluster.
//
// +kubebuilder:validation:Enum=OpenShiftSDN;Calico;OVNKubernetes;Other
type NetworkType string

const (
	// OpenShiftSDN is the plugin of old OpenShift releases. It has the same effect as OVNKubernetes.
	OpenShiftSDN NetworkType = "OpenShiftSDN"
	// Calico is installed by the user.
	Calico NetworkType = "Calico"
	// OVNKubernetes is the pod network of the release. A release of Kubernetes has flannel.
	OVNKubernetes NetworkType = "OVNKubernetes"
	// Other is any other plugin that the user installs.
	Other NetworkType = "Other"
)

// AllocateNodeCIDRsMode defines whether kube-controller-manager allocates the pod ranges of the nodes.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type AllocateNodeCIDRsMode string

const (
	// AllocateNodeCIDRsEnabled makes kube-controller-manager allocate them.
	AllocateNodeCIDRsEnabled AllocateNodeCIDRsMode = "Enabled"
	// AllocateNodeCIDRsDisabled leaves them to the network plugin.
	AllocateNodeCIDRsDisabled AllocateNodeCIDRsMode = "Disabled"
)

// ClusterNetworking configures the networks of the hosted cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.allocateNodeCIDRs) || self.allocateNodeCIDRs != 'Enabled' || self.networkType == 'Other'",message="allocateNodeCIDRs may be Enabled only when networkType is Other"
// +kubebuilder:validation:XValidation:rule="!has(self.machineNetwork) || self.machineNetwork.all(m, self.clusterNetwork.all(c, c.cidr != m.cidr) && self.serviceNetwork.all(s, s.cidr != m.cidr))",message="machineNetwork must differ from clusterNetwork and serviceNetwork"
// +kubebuilder:validation:XValidation:rule="self.clusterNetwork.all(c, self.serviceNetwork.all(s, c.cidr != s.cidr))",message="clusterNetwork must differ from serviceNetwork"
type ClusterNetworking struct {
	// machineNetwork lists the address ranges of the machines. On AWS these are ranges of the VPC. It cannot be
	// changed once it is set.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	MachineNetwork []MachineNetworkEntry `json:"machineNetwork,omitempty"`

	// clusterNetwork lists the address ranges of the pods, one per IP family.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:default={{cidr: "10.132.0.0/14"}}
	ClusterNetwork []ClusterNetworkEntry `json:"clusterNetwork,omitempty"`

	// serviceNetwork lists the address ranges of the services, one per IP family.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:default={{cidr: "172.31.0.0/16"}}
	ServiceNetwork []ServiceNetworkEntry `json:"serviceNetwork,omitempty"`

	// networkType is the network plugin. It cannot be changed. OVNKubernetes, the default, and OpenShiftSDN stand for
	// the pod network of the release: a release of Kubernetes installs flannel, which does not enforce
	// NetworkPolicies. With Calico and Other, the user installs a network plugin. The condition PodNetworkInstalled
	// reports what is installed.
	//
	// +optional
	// +kubebuilder:default=OVNKubernetes
	NetworkType NetworkType `json:"networkType,omitempty"`

	// apiServer configures the address of the API server on the nodes, and the addresses from which clients may
	// connect to it.
	//
	// +optional
	APIServer *APIServerNetworking `json:"apiServer,omitempty"`

	// allocateNodeCIDRs defines whether kube-controller-manager allocates a range of pod addresses to each node. Only
	// for networkType Other, if the plugin requires it. For the pod network of the release, they are always allocated.
	//
	// +optional
	AllocateNodeCIDRs *AllocateNodeCIDRsMode `json:"allocateNodeCIDRs,omitempty"`
}

// MachineNetworkEntry is one range of machine addresses.
type MachineNetworkEntry struct {
	// cidr is the range, such as 10.0.0.0/16.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be an address range such as 10.0.0.0/16"
	CIDR string `json:"cidr,omitempty"`
}

// ClusterNetworkEntry is one range of pod addresses.
type ClusterNetworkEntry struct {
	// cidr is the range, such as 10.132.0.0/14.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be an address range such as 10.132.0.0/14"
	CIDR string `json:"cidr,omitempty"`

	// hostPrefix is the prefix length of the range of each node. With 23 a node has 510 addresses. The default is 24,
	// or 64 for IPv6. It has no effect where no ranges are allocated to nodes.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=128
	HostPrefix int32 `json:"hostPrefix,omitempty"`
}

// ServiceNetworkEntry is one range of service addresses.
type ServiceNetworkEntry struct {
	// cidr is the range, such as 172.31.0.0/16.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be an address range such as 172.31.0.0/16"
	CIDR string `json:"cidr,omitempty"`
}

// APIServerNetworking configures the address of the API server on the nodes, and access to its load balancer.
type APIServerNetworking struct {
	// advertiseAddress is the address of the API server on every node. It is outside of all networks. The default is
	// 172.20.0.1, or fd00::1 for IPv6. It cannot be changed once it is set.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be an IP address"
	AdvertiseAddress *string `json:"advertiseAddress,omitempty"`

	// port is the port of the API server on every node. The default is 6443. It cannot be changed once it is set.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// allowedCIDRBlocks lists the ranges from which the public load balancer of the API server accepts connections.
	// An empty list accepts all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	AllowedCIDRBlocks []CIDRBlock `json:"allowedCIDRBlocks,omitempty"`
}

// Defaults of the API server's address on the nodes.
const (
	defaultAdvertiseIPv4 = "172.20.0.1"
	defaultAdvertiseIPv6 = "fd00::1"
	defaultAdvertisePort = 6443
)

// UsesPodNetworkOfRelease reports whether networkType selects the pod network of the release.
func (n ClusterNetworking) UsesPodNetworkOfRelease() bool {
	return n.NetworkType != Calico && n.NetworkType != Other
}

// AllocatesNodeRanges reports whether kube-controller-manager may allocate ranges of pod addresses to nodes.
func (n ClusterNetworking) AllocatesNodeRanges() bool {
	return n.UsesPodNetworkOfRelease() || n.AllocateNodeCIDRs != nil && *n.AllocateNodeCIDRs == AllocateNodeCIDRsEnabled
}

// AdvertiseAddress returns the address of the API server on every node. It has the IP family of the first service
// range, which is the family of the only address of the API server's Service.
func (n ClusterNetworking) AdvertiseAddress() string {
	if n.APIServer != nil && n.APIServer.AdvertiseAddress != nil && *n.APIServer.AdvertiseAddress != "" {
		return *n.APIServer.AdvertiseAddress
	}
	if len(n.ServiceNetwork) > 0 {
		if first, err := netip.ParsePrefix(n.ServiceNetwork[0].CIDR); err == nil && first.Addr().Is6() {
			return defaultAdvertiseIPv6
		}
	}
	return defaultAdvertiseIPv4
}

// AdvertisePort returns the port of the API server on every node.
func (n ClusterNetworking) AdvertisePort() int32 {
	if n.APIServer != nil && n.APIServer.Port != nil && *n.APIServer.Port != 0 {
		return *n.APIServer.Port
	}
	return defaultAdvertisePort
}

// CIDRBlock is an address range in CIDR notation.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be an address range such as 203.0.113.0/24"
type CIDRBlock string
