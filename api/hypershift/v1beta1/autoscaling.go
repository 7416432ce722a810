package v1beta1

// ScalingType is the direction in which the number of nodes may change.
//
// +kubebuilder:validation:Enum=ScaleUpOnly;ScaleUpAndScaleDown
type ScalingType string

const (
	// ScaleUpOnly adds nodes. The user removes them.
	ScaleUpOnly ScalingType = "ScaleUpOnly"
	// ScaleUpAndScaleDown adds nodes and removes them.
	ScaleUpAndScaleDown ScalingType = "ScaleUpAndScaleDown"
)

// ExpanderString is a strategy to select the node pool to scale up.
//
// +kubebuilder:validation:Enum=LeastWaste;Priority;Random
type ExpanderString string

const (
	// LeastWasteExpander selects the pool that would have the least unused CPU and memory.
	LeastWasteExpander ExpanderString = "LeastWaste"
	// PriorityExpander selects by the priorities in the cluster-autoscaler-priority-expander ConfigMap of the hosted
	// cluster.
	PriorityExpander ExpanderString = "Priority"
	// RandomExpander selects a random pool.
	RandomExpander ExpanderString = "Random"
)

// ClusterAutoscaling configures the cluster autoscaler for all node pools that have autoScaling.
//
// +kubebuilder:validation:XValidation:rule="!has(self.scaleDown) || !has(self.scaling) || self.scaling == 'ScaleUpAndScaleDown'",message="scaleDown is forbidden unless scaling is ScaleUpAndScaleDown"
type ClusterAutoscaling struct {
	// scaling is the direction in which the number of nodes may change.
	//
	// +optional
	// +kubebuilder:default=ScaleUpAndScaleDown
	Scaling ScalingType `json:"scaling,omitempty"`

	// scaleDown configures when nodes are removed.
	//
	// +optional
	ScaleDown *ScaleDownConfig `json:"scaleDown,omitempty"`

	// balancingIgnoredLabels lists node labels that the autoscaler ignores when it compares two pools.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	BalancingIgnoredLabels []LabelKey `json:"balancingIgnoredLabels,omitempty"`

	// maxNodesTotal is the maximum number of nodes of all pools, including those without autoScaling. The autoscaler
	// adds no node above it.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxNodesTotal *int32 `json:"maxNodesTotal,omitempty"`

	// maxPodGracePeriod is the time in seconds that a pod may take to terminate when its node is removed. The default
	// is 600.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPodGracePeriod *int32 `json:"maxPodGracePeriod,omitempty"`

	// maxNodeProvisionTime is the time that a machine may take to become a node, such as 15m.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	MaxNodeProvisionTime string `json:"maxNodeProvisionTime,omitempty"`

	// podPriorityThreshold is the priority below which pods neither cause nor prevent scaling. The default is -10.
	//
	// +optional
	PodPriorityThreshold *int32 `json:"podPriorityThreshold,omitempty"`

	// expanders lists the strategies to select the pool to scale up. Each strategy selects among the results of the
	// one before it.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Expanders []ExpanderString `json:"expanders,omitempty"`

	// maxFreeDifferenceRatioPercent is the maximum difference of the free resources of two similar pools, in percent.
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

// ScaleDownConfig configures when nodes are removed.
type ScaleDownConfig struct {
	// delayAfterAddSeconds is the time after a node was added until nodes may be removed again.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	DelayAfterAddSeconds *int32 `json:"delayAfterAddSeconds,omitempty"`

	// delayAfterDeleteSeconds is the time after a node was removed until nodes may be removed again.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	DelayAfterDeleteSeconds *int32 `json:"delayAfterDeleteSeconds,omitempty"`

	// delayAfterFailureSeconds is the time after a failed removal until nodes may be removed again.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	DelayAfterFailureSeconds *int32 `json:"delayAfterFailureSeconds,omitempty"`

	// unneededDurationSeconds is the time for which a node must be unneeded before it is removed.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	UnneededDurationSeconds *int32 `json:"unneededDurationSeconds,omitempty"`

	// utilizationThresholdPercent is the share of a node's resources that pods request, in percent. Below it the node
	// is unneeded.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	UtilizationThresholdPercent *int32 `json:"utilizationThresholdPercent,omitempty"`
}
