package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePool is a set of identical workers: one instance type, one subnet, one release, one configuration. It belongs
// to the HostedCluster with the name spec.clusterName in the same namespace.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodepools,shortName=np;nps,scope=Namespaced,categories=hypershift
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="HostedCluster that the pool belongs to"
// +kubebuilder:printcolumn:name="Desired Nodes",type="integer",JSONPath=".spec.replicas",description="Desired nodes; empty while spec.autoScaling is set"
// +kubebuilder:printcolumn:name="Current Nodes",type="integer",JSONPath=".status.replicas",description="Nodes that are available"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the desired nodes are available"
// +kubebuilder:printcolumn:name="Autoscaling",type="string",JSONPath=".status.conditions[?(@.type==\"AutoscalingEnabled\")].status",description="Whether the pool scales itself"
// +kubebuilder:printcolumn:name="Autorepair",type="string",JSONPath=".status.conditions[?(@.type==\"AutorepairEnabled\")].status",description="Whether broken nodes are replaced"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.version",description="Version that all nodes run"
// +kubebuilder:printcolumn:name="UpdatingVersion",type="string",JSONPath=".status.conditions[?(@.type==\"UpdatingVersion\")].status",description="Whether nodes are moving to another version"
// +kubebuilder:printcolumn:name="UpdatingConfig",type="string",JSONPath=".status.conditions[?(@.type==\"UpdatingConfig\")].status",description="Whether nodes are moving to another configuration"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What the pool is waiting for"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Instance Type",type="string",priority=1,JSONPath=".spec.platform.aws.instanceType",description="EC2 instance type"
// +kubebuilder:printcolumn:name="Subnet",type="string",priority=1,JSONPath=".spec.platform.aws.subnet.id",description="Subnet of the instances"
// +kubebuilder:printcolumn:name="Arch",type="string",priority=1,JSONPath=".spec.arch",description="CPU architecture"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name of a NodePool becomes part of machine and host names: use at most 63 characters"
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec NodePoolSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status NodePoolStatus `json:"status,omitempty"`

	unreadable `json:"-"`
}

// UnmarshalJSON decodes all fields that can be decoded; see Unreadable.
func (in *NodePool) UnmarshalJSON(text []byte) (err error) {
	type plain NodePool
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}

// NodePoolList is a list of NodePools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePool `json:"items"`
}

// NodePoolSpec configures the number of nodes and their properties.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.replicas) && has(self.autoScaling))",message="replicas and autoScaling exclude each other: remove one of them"
// +kubebuilder:validation:XValidation:rule="has(self.autoScaling) || has(self.replicas) || !has(oldSelf.autoScaling)",message="removing autoScaling without a number of nodes would scale the pool to zero: set replicas in the same change"
// +kubebuilder:validation:XValidation:rule="!has(self.autoScaling) || self.autoScaling.min > 0 || self.platform.type == 'AWS'",message="only AWS can scale from zero: set autoScaling.min to 1 or more"
// +kubebuilder:validation:XValidation:rule="self.platform.type != 'AWS' || self.arch in ['amd64', 'arm64']",message="AWS has amd64 and arm64 machines: set arch to one of these"
// +kubebuilder:validation:XValidation:rule="!has(self.platform.aws) || !has(self.platform.aws.imageType) || self.platform.aws.imageType != 'Windows' || self.arch == 'amd64'",message="Windows images exist for amd64 only: set arch to amd64 or platform.aws.imageType to Linux"
// +kubebuilder:validation:XValidation:rule="has(self.osImageStream) || !has(oldSelf.osImageStream)",message="osImageStream was set once and cannot be removed: keep it, or create a new NodePool"
type NodePoolSpec struct {
	// clusterName is the HostedCluster, in the same namespace, that the nodes join. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="clusterName must be the name of a HostedCluster: dot-separated labels of lower-case letters, digits and dashes"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterName cannot be changed: create a new NodePool for the other cluster"
	ClusterName string `json:"clusterName"`

	// release is the release that the nodes run. A change replaces or updates the nodes as configured in management.
	// +required
	Release Release `json:"release"`

	// platform configures where the machines run.
	// +required
	Platform NodePoolPlatform `json:"platform"`

	// replicas is the number of nodes. It cannot be combined with autoScaling. Without both, the pool has no nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// management configures how nodes are replaced and repaired.
	// +required
	Management NodePoolManagement `json:"management"`

	// autoScaling makes the cluster autoscaler set the number of nodes. It cannot be combined with replicas.
	// +optional
	AutoScaling *NodePoolAutoScaling `json:"autoScaling,omitempty"`

	// config refers to ConfigMaps in the namespace of the NodePool with node configuration (KubeletConfig,
	// ContainerRuntimeConfig, MachineConfig, image mirrors) under the key "config". A change replaces the nodes.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	Config []NodePoolConfigMapReference `json:"config,omitempty"`

	// tuningConfig refers to ConfigMaps in the namespace of the NodePool with a Tuned or a PerformanceProfile (at
	// most one of the latter) under the key "tuning". It is reserved and has no effect yet. The condition
	// ValidTuningConfig describes an alternative.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	TuningConfig []NodePoolConfigMapReference `json:"tuningConfig,omitempty"`

	// nodeDrainTimeout is the maximum time to drain a node before its machine is deleted anyway, such as "10m".
	// Without a value or with 0 there is no limit. A change does not replace the nodes.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+)$')",message="nodeDrainTimeout must be a duration such as 30s, 10m or 1h30m"
	NodeDrainTimeout *metav1.Duration `json:"nodeDrainTimeout,omitempty"`

	// nodeVolumeDetachTimeout is the maximum time to detach volumes from a node before its machine is deleted anyway.
	// Without a value or with 0 there is no limit. A change does not replace the nodes.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+)$')",message="nodeVolumeDetachTimeout must be a duration such as 30s, 10m or 1h30m"
	NodeVolumeDetachTimeout *metav1.Duration `json:"nodeVolumeDetachTimeout,omitempty"`

	// nodeLabels are added to the nodes of this pool. A change is applied in place.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="each key of nodeLabels must be a label key: an optional DNS prefix and a slash, then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['kubernetes.io/hostname', 'kubernetes.io/os', 'kubernetes.io/arch', 'node.kubernetes.io/instance-type', 'topology.kubernetes.io/zone', 'topology.kubernetes.io/region', 'node-role.kubernetes.io/master', 'node-role.kubernetes.io/control-plane']))",message="nodeLabels holds a label that the node sets itself or that only a control plane has (hostname, os, arch, instance-type, zone, region, master, control-plane): remove it"
	NodeLabels map[string]LabelValue `json:"nodeLabels,omitempty"`

	// taints are added to the nodes of this pool. A change is applied in place.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=50
	Taints []Taint `json:"taints,omitempty"`

	// pausedUntil stops changes to this pool (not its deletion): "true", or a time in RFC 3339 such as
	// 2030-01-31T12:00:00Z until which they are stopped.
	// +optional
	PausedUntil *PausedUntil `json:"pausedUntil,omitempty"`

	// arch is the processor architecture of the nodes. It cannot be changed.
	// +optional
	// +default="amd64"
	// +kubebuilder:default=amd64
	// +kubebuilder:validation:Enum=arm64;amd64;ppc64le;s390x
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="arch cannot be changed: create a new NodePool"
	Arch Architecture `json:"arch,omitempty"`

	// osImageStream selects the operating system, if a release has more than one. It cannot be removed once it is
	// set. It is reserved and has no effect yet, which the condition SupportedFields reports.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!(oldSelf.name == 'rhel-10' && self.name == 'rhel-9')",message="osImageStream cannot go back from rhel-10 to rhel-9: create a new NodePool"
	OSImageStream *OSImageStream `json:"osImageStream,omitempty"`
}

// NodePoolPlatform configures where the machines of a pool run.
//
// +kubebuilder:validation:XValidation:rule="has(self.aws) == (self.type == 'AWS')",message="the block aws belongs to type AWS: give it if, and only if, platform.type is AWS"
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type",message="platform.type cannot be changed: create a new NodePool"
type NodePoolPlatform struct {
	// type is the platform. It cannot be changed.
	// +unionDiscriminator
	// +required
	Type PlatformType `json:"type"`

	// aws configures the EC2 instances.
	// +optional
	AWS *AWSNodePoolPlatform `json:"aws,omitempty"`
}

// NodePoolAutoScaling limits the number of nodes that the cluster autoscaler may set.
//
// +kubebuilder:validation:XValidation:rule="self.max >= self.min",message="autoScaling.max must not be less than autoScaling.min"
type NodePoolAutoScaling struct {
	// min is the minimum number of nodes.
	// +required
	// +kubebuilder:validation:Minimum=0
	Min *int32 `json:"min"`

	// max is the maximum number of nodes.
	// +required
	// +kubebuilder:validation:Minimum=1
	Max int32 `json:"max"`
}

// NodePoolRepairStatus records the last replacement of machines that did not join the cluster.
type NodePoolRepairStatus struct {
	// attempts is how often machines have been replaced since the last machine joined. The time between two
	// replacements doubles with each of them.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempts int32 `json:"attempts,omitempty"`
	// lastTime is the time of the last replacement.
	// +required
	LastTime metav1.Time `json:"lastTime,omitzero"`
	// machines are the Machines of the last replacement.
	// +required
	// +listType=set
	// +kubebuilder:validation:MaxItems=10
	Machines []string `json:"machines,omitempty"`
}

// NodePoolStatus is the observed state of the nodes.
type NodePoolStatus struct {
	// replicas is the number of available nodes.
	// +optional
	Replicas int32 `json:"replicas"`

	// observedGeneration is the generation of the NodePool that status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// selector is the label selector of the pool's machines, in the format of the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// version is the version that was last rolled out to all nodes.
	// +optional
	Version string `json:"version,omitempty"`

	// nodesInfo counts nodes by version.
	// +optional
	NodesInfo NodesInfo `json:"nodesInfo,omitzero"`

	// repair records the last replacement of machines that did not join the cluster. It is removed when a machine that
	// was created later has joined.
	// +optional
	Repair *NodePoolRepairStatus `json:"repair,omitempty"`

	// osImageStream is the operating system of most nodes. It is reserved and is not set yet.
	// +optional
	OSImageStream *OSImageStream `json:"osImageStream,omitempty"`

	// conditions reports the state of the pool and what it waits for.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []NodePoolCondition `json:"conditions,omitempty"`
}
