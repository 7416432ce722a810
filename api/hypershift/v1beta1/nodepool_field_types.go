package v1beta1

// NodePoolConfigMapReference refers to a ConfigMap in the namespace of the NodePool.
type NodePoolConfigMapReference struct {
	// name is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Taint keeps pods that do not tolerate it away from the nodes of a pool.
type Taint struct {
	// key is the key of the taint, in the format of a label key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="the key of a taint must be an optional DNS prefix and a slash, then at most 63 letters, digits, '-', '_' or '.'"
	Key string `json:"key"`

	// value is an optional value.
	// +optional
	Value LabelValue `json:"value,omitempty"`

	// effect is what happens to pods that do not tolerate the taint.
	// +required
	Effect TaintEffect `json:"effect"`
}

// TaintEffect is what a taint does to pods that do not tolerate it.
//
// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
type TaintEffect string

// What a taint does to pods that do not tolerate it.
const (
	TaintEffectNoSchedule       TaintEffect = "NoSchedule"
	TaintEffectPreferNoSchedule TaintEffect = "PreferNoSchedule"
	TaintEffectNoExecute        TaintEffect = "NoExecute"
)

// Architecture is a processor architecture, with the name that container images use.
type Architecture string

// Processor architectures.
const (
	ArchitectureAMD64   Architecture = "amd64"
	ArchitectureARM64   Architecture = "arm64"
	ArchitecturePPC64LE Architecture = "ppc64le"
	ArchitectureS390X   Architecture = "s390x"
)

// OSImageStream selects an operating system.
type OSImageStream struct {
	// name is the operating system.
	// +required
	// +kubebuilder:validation:Enum=rhel-9;rhel-10
	Name string `json:"name"`
}

// NodesInfo counts nodes.
type NodesInfo struct {
	// nodeVersions has one entry for each version that at least one node runs.
	// +optional
	// +listType=map
	// +listMapKey=ocpVersion
	// +listMapKey=kubeletVersion
	NodeVersions []NodeVersion `json:"nodeVersions,omitempty"`
}

// NodeVersion counts the nodes of one version.
type NodeVersion struct {
	// ocpVersion is the version of the release.
	// +required
	OCPVersion string `json:"ocpVersion"`

	// kubeletVersion is the version of the kubelet.
	// +required
	KubeletVersion string `json:"kubeletVersion"`

	// readyNodeCount is the number of ready nodes of this version.
	// +optional
	ReadyNodeCount int32 `json:"readyNodeCount"`

	// unreadyNodeCount is the number of nodes of this version that are not ready.
	// +optional
	UnreadyNodeCount int32 `json:"unreadyNodeCount"`
}
