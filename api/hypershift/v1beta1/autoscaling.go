package v1beta1

// ScalingType says in which directions the number of nodes may go.
//
// +kubebuilder:validation:Enum=ScaleUpOnly;ScaleUpAndScaleDown
type ScalingType string

const (
	// ScaleUpOnly adds nodes and leaves the removal to the user.
	ScaleUpOnly ScalingType = "ScaleUpOnly"
	// ScaleUpAndScaleDown adds nodes and removes them.
	ScaleUpAndScaleDown ScalingType = "ScaleUpAndScaleDown"
)

// ExpanderString is a way to choose which node pool grows.
//
// +kubebuilder:validation:Enum=LeastWaste;Priority;Random
type ExpanderString string

const (
	// LeastWasteExpander chooses the pool that would have the least unused CPU and memory.
	LeastWasteExpander ExpanderString = "LeastWaste"
	// PriorityExpander chooses by the priorities in the cluster-autoscaler-priority-expander ConfigMap of the hosted cluster.
	PriorityExpander ExpanderString = "Priority"
	// RandomExpander chooses by lot.
	RandomExpander ExpanderString = "Random"
)

// ClusterAutoscaling configures the cluster autoscaler for all node pools that have autoScaling.
//
// +kubebuilder:validation:XValidation:rule="!has(self.scaleDown) || !has(self.scaling) || self.scaling == 'ScaleUpAndScaleDown'",message="scaleDown is forbidden unless scaling is ScaleUpAndScaleDown"
type ClusterAutoscaling struct {
	// scaling says in which directions the number of nodes may go.
	//
	// +optional
	// +kubebuilder:default=ScaleUpAndScaleDown
	Scaling ScalingType `json:"scaling,omitempty"`

	// scaleDown says when nodes are removed.
	//
	// +optional
	ScaleDown *ScaleDownConfig `json:"scaleDown,omitempty"`

	// balancingIgnoredLabels lists node labels that do not matter when the autoscaler decides whether two pools are alike.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	BalancingIgnoredLabels []LabelKey `json:"balancingIgnoredLabels,omitempty"`

	// maxNodesTotal is the largest number of nodes in all pools together, of those that autoscale and those that do not. The
	// autoscaler adds no node beyond it.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxNodesTotal *int32 `json:"maxNodesTotal,omitempty"`

	// maxPodGracePeriod is how many seconds a pod may take to end when its node is removed. Without it 600.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPodGracePeriod *int32 `json:"maxPodGracePeriod,omitempty"`

	// maxNodeProvisionTime is how long a machine may take to become a node, such as 15m.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	MaxNodeProvisionTime string `json:"maxNodeProvisionTime,omitempty"`

	// podPriorityThreshold is the priority below which pods neither cause nor prevent scaling. Without it -10.
	//
	// +optional
	PodPriorityThreshold *int32 `json:"podPriorityThreshold,omitempty"`

	// expanders lists the ways to choose which pool grows. Each one decides among those that the one before it left.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Expanders []ExpanderString `json:"expanders,omitempty"`

	// maxFreeDifferenceRatioPercent is by how many percent the free resources of two pools may differ for them to be alike.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxFreeDifferenceRatioPercent *int32 `json:"maxFreeDifferenceRatioPercent,omitempty"`
}

// LabelKey is the key of a label.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=317
// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the key of a label, such as example.com/name"
type LabelKey string

// ScaleDownConfig says when nodes are removed.
type ScaleDownConfig struct {
	// delayAfterAddSeconds is how long after a node was added removal is considered again.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	DelayAfterAddSeconds *int32 `json:"delayAfterAddSeconds,omitempty"`

	// delayAfterDeleteSeconds is how long after a node was removed removal is considered again.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	DelayAfterDeleteSeconds *int32 `json:"delayAfterDeleteSeconds,omitempty"`

	// delayAfterFailureSeconds is how long after a failed removal removal is considered again.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	DelayAfterFailureSeconds *int32 `json:"delayAfterFailureSeconds,omitempty"`

	// unneededDurationSeconds is how long a node must be unneeded before it is removed.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	UnneededDurationSeconds *int32 `json:"unneededDurationSeconds,omitempty"`

	// utilizationThresholdPercent is the share of a node's resources that is asked for, below which the node is unneeded.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	UtilizationThresholdPercent *int32 `json:"utilizationThresholdPercent,omitempty"`
}
