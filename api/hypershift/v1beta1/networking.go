package v1beta1

import "net/netip"

// NetworkType names the network plugin of the hosted cluster.
//
// +kubebuilder:validation:Enum=OpenShiftSDN;Calico;OVNKubernetes;Other
type NetworkType string

const (
	// OpenShiftSDN is the plugin of old OpenShift releases.
	OpenShiftSDN NetworkType = "OpenShiftSDN"
	// Calico is brought by the user.
	Calico NetworkType = "Calico"
	// OVNKubernetes comes with OpenShift.
	OVNKubernetes NetworkType = "OVNKubernetes"
	// Other is any plugin that the user brings.
	Other NetworkType = "Other"
)

// AllocateNodeCIDRsMode says who hands out the pod ranges of the nodes.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type AllocateNodeCIDRsMode string

const (
	// AllocateNodeCIDRsEnabled lets kube-controller-manager hand them out.
	AllocateNodeCIDRsEnabled AllocateNodeCIDRsMode = "Enabled"
	// AllocateNodeCIDRsDisabled leaves it to the network plugin.
	AllocateNodeCIDRsDisabled AllocateNodeCIDRsMode = "Disabled"
)

// ClusterNetworking describes the networks of the hosted cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.allocateNodeCIDRs) || self.allocateNodeCIDRs != 'Enabled' || self.networkType == 'Other'",message="allocateNodeCIDRs may be Enabled only when networkType is Other"
// +kubebuilder:validation:XValidation:rule="!has(self.machineNetwork) || self.machineNetwork.all(m, self.clusterNetwork.all(c, c.cidr != m.cidr) && self.serviceNetwork.all(s, s.cidr != m.cidr))",message="machineNetwork must differ from clusterNetwork and serviceNetwork"
// +kubebuilder:validation:XValidation:rule="self.clusterNetwork.all(c, self.serviceNetwork.all(s, c.cidr != s.cidr))",message="clusterNetwork must differ from serviceNetwork"
type ClusterNetworking struct {
	// machineNetwork lists the ranges of the machines' addresses. On AWS these are ranges of the VPC.
	// Once set it stays.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	MachineNetwork []MachineNetworkEntry `json:"machineNetwork,omitempty"`

	// clusterNetwork lists the ranges of the pods' addresses, one per IP family.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:default={{cidr: "10.132.0.0/14"}}
	ClusterNetwork []ClusterNetworkEntry `json:"clusterNetwork,omitempty"`

	// serviceNetwork lists the ranges of the services' addresses, one per IP family.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:default={{cidr: "172.31.0.0/16"}}
	ServiceNetwork []ServiceNetworkEntry `json:"serviceNetwork,omitempty"`

	// networkType is the network plugin. It cannot be changed.
	//
	// +optional
	// +kubebuilder:default=OVNKubernetes
	NetworkType NetworkType `json:"networkType,omitempty"`

	// apiServer says where the nodes find the API server on their own machine, and who may reach it.
	//
	// +optional
	APIServer *APIServerNetworking `json:"apiServer,omitempty"`

	// allocateNodeCIDRs says whether kube-controller-manager gives each node its range of pod addresses. Only for networkType
	// Other, when the plugin expects it.
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

	// hostPrefix is the length of the prefix that each node gets out of the range; 23 gives a node 510 addresses.
	// Plugins that do not divide the range by node ignore it.
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

// APIServerNetworking says how the API server is reached.
type APIServerNetworking struct {
	// advertiseAddress is the address at which the API server is reached on every node. It belongs to none of the networks.
	// Without it 172.20.0.1 is used, or fd00::1 for IPv6. Once set it stays.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be an IP address"
	AdvertiseAddress *string `json:"advertiseAddress,omitempty"`

	// port is the port at which the API server is reached on every node. Without it 6443 is used. Once set it stays.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// allowedCIDRBlocks lists the ranges from which the public load balancer of the API server accepts connections. An empty
	// list accepts all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	AllowedCIDRBlocks []CIDRBlock `json:"allowedCIDRBlocks,omitempty"`
}

// Where nodes find the API server on themselves unless somebody says otherwise.
const (
	defaultAdvertiseIPv4 = "172.20.0.1"
	defaultAdvertiseIPv6 = "fd00::1"
	defaultAdvertisePort = 6443
)

// AdvertiseAddress is where nodes find the API server on themselves. It is of the family in which the Service of the API
// server has its only address: that of the first range.
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

// AdvertisePort is the port beside AdvertiseAddress.
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
