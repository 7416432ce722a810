package v1beta1

// Provisioner names what makes nodes by need rather than by node pool.
//
// +kubebuilder:validation:Enum=Karpenter
type Provisioner string

// ProvisionerKarpenter makes nodes with Karpenter.
const ProvisionerKarpenter Provisioner = "Karpenter"

// AutoNode makes nodes by need, beside the node pools.
type AutoNode struct {
	// provisionerConfig says what makes the nodes.
	//
	// +required
	Provisioner ProvisionerConfig `json:"provisionerConfig,omitzero"`
}

// ProvisionerConfig says what makes the nodes.
//
// +kubebuilder:validation:XValidation:rule="self.name == 'Karpenter' ? has(self.karpenter) : !has(self.karpenter)",message="karpenter is required when name is Karpenter, and forbidden otherwise"
type ProvisionerConfig struct {
	// name is the provisioner.
	//
	// +required
	Name Provisioner `json:"name,omitempty"`

	// karpenter holds the settings of Karpenter.
	//
	// +optional
	Karpenter *KarpenterConfig `json:"karpenter,omitempty"`
}

// KarpenterConfig holds the settings of Karpenter.
//
// +kubebuilder:validation:XValidation:rule="self.platform == 'AWS' ? has(self.aws) : !has(self.aws)",message="aws is required when platform is AWS, and forbidden otherwise"
type KarpenterConfig struct {
	// platform is where Karpenter makes nodes.
	//
	// +required
	// +kubebuilder:validation:Enum=AWS
	Platform PlatformType `json:"platform,omitempty"`

	// aws holds the settings of Karpenter on AWS.
	//
	// +optional
	AWS *KarpenterAWSConfig `json:"aws,omitempty"`
}

// KarpenterAWSConfig holds the settings of Karpenter on AWS.
type KarpenterAWSConfig struct {
	// roleARN is the role with which Karpenter makes instances.
	//
	// +required
	RoleARN RoleARN `json:"roleARN,omitempty"`
}

// AutoNodeStatus counts what was made by need.
type AutoNodeStatus struct {
	// nodeCount is the number of nodes.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeCount *int32 `json:"nodeCount,omitempty"`

	// nodeClaimCount is the number of nodes asked for.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeClaimCount *int32 `json:"nodeClaimCount,omitempty"`

	// vcpus is the number of virtual CPUs of those nodes.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	VCPUs *int32 `json:"vcpus,omitempty"`
}
