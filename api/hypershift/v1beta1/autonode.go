package v1beta1

// Provisioner is a program that creates nodes on demand, without a node pool.
//
// +kubebuilder:validation:Enum=Karpenter
type Provisioner string

// ProvisionerKarpenter creates nodes with Karpenter.
const ProvisionerKarpenter Provisioner = "Karpenter"

// AutoNode creates nodes on demand, in addition to the node pools.
type AutoNode struct {
	// provisionerConfig selects and configures the provisioner.
	//
	// +required
	Provisioner ProvisionerConfig `json:"provisionerConfig,omitzero"`
}

// ProvisionerConfig selects and configures the provisioner.
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
	// platform is the platform on which Karpenter creates nodes.
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
	// roleARN is the IAM role with which Karpenter creates instances.
	//
	// +required
	RoleARN RoleARN `json:"roleARN,omitempty"`
}

// Karpenter returns the settings of Karpenter on AWS, or nil if the cluster does not use it.
func (in *AutoNode) Karpenter() *KarpenterAWSConfig {
	if in == nil || in.Provisioner.Name != ProvisionerKarpenter || in.Provisioner.Karpenter == nil {
		return nil
	}
	return in.Provisioner.Karpenter.AWS
}

// AutoNodeStatus counts the nodes that were created on demand.
type AutoNodeStatus struct {
	// nodeCount is the number of nodes.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeCount *int32 `json:"nodeCount,omitempty"`

	// nodeClaimCount is the number of requested nodes.
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
