package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of a NodeBootstrap.
const (
	// NodeBootstrapDataSecretCreatedCondition is True when the machine's user data exists. The machine is created only then.
	NodeBootstrapDataSecretCreatedCondition = "DataSecretCreated"
	// NodeBootstrapReadyCondition has the status of DataSecretCreated. Cluster API shows it as BootstrapConfigReady of the Machine.
	NodeBootstrapReadyCondition = "Ready"
	// NodeBootstrapPausedCondition is True while the machine's user data is not reconciled, because the cluster or the object is
	// paused.
	NodeBootstrapPausedCondition = "Paused"
)

// Reasons of a NodeBootstrap.
const (
	// WaitingForMachineReason: Cluster API has not set the Machine of this object yet.
	WaitingForMachineReason = "WaitingForMachine"
	// WaitingForAPIServerReason: the API server's address or certificate authority is not known yet. See the conditions of the
	// HostedCluster.
	WaitingForAPIServerReason = "WaitingForAPIServer"
	// ConfigNotFoundReason: the Secret with the node pool's configuration does not exist. If this persists, check the
	// conditions of the NodePool.
	ConfigNotFoundReason = "ConfigNotFound"
	// InvalidNodeInputReason: an object of the HostedCluster for its nodes (ssh key, trust bundle, proxy) is missing or cannot
	// be read. Until it is corrected, no machine can be created.
	InvalidNodeInputReason = "InvalidNodeInput"
	// UserDataTooLargeReason: EC2 accepts at most 16 KiB of user data. Reduce the largest part, which the message names, or put it
	// into the machine image.
	UserDataTooLargeReason = "UserDataTooLarge"
)

// UserDataFormat is the format of user data, by the name that Cluster API has for it.
//
// +kubebuilder:validation:Enum=ignition;cloud-config
type UserDataFormat string

// The formats of user data.
const (
	// UserDataFormatIgnition is a configuration of Ignition 3.4.
	UserDataFormatIgnition UserDataFormat = "ignition"
	// UserDataFormatCloudConfig is a configuration of cloud-init.
	UserDataFormatCloudConfig UserDataFormat = "cloud-config"
)

// NodeBootstrapSpec defines the node to create. It is copied from a NodeBootstrapTemplate and cannot be changed.
// Another configuration needs another template and other machines.
//
// +kubebuilder:validation:XValidation:rule="self.nodePoolName == oldSelf.nodePoolName && self.configName == oldSelf.configName && self.version == oldSelf.version && has(self.userDataFormat) == has(oldSelf.userDataFormat) && (!has(self.userDataFormat) || self.userDataFormat == oldSelf.userDataFormat) && has(self.programs) == has(oldSelf.programs) && (!has(self.programs) || self.programs.digest == oldSelf.programs.digest)",message="spec cannot be changed: a machine reads its configuration only when it starts"
type NodeBootstrapSpec struct {
	// nodePoolName is the name of the NodePool that the machine belongs to. Its bootstrap token is for the group
	// system:bootstrappers:<nodePoolName>.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodePoolName string `json:"nodePoolName"`
	// configName is the name of the Secret with the configuration of the node, under the key "config".
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigName string `json:"configName"`
	// version is the Kubernetes version of the node.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+([-+][0-9A-Za-z.+-]+)?$')",message="version must be a version of Kubernetes, such as v1.36.3"
	Version string `json:"version"`
	// userDataFormat is the format that the machine image reads. Default ignition.
	//
	// +optional
	UserDataFormat UserDataFormat `json:"userDataFormat,omitempty"`
	// programs are the programs that the machine installs when it starts. Without them the machine image has them.
	//
	// +optional
	Programs *NodePrograms `json:"programs,omitempty"`
}

// NodePrograms are the kubelet, the container runtime and the network plugins of a release: the layers of an image.
type NodePrograms struct {
	// digest is that of the image, for one architecture.
	//
	// +required
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[0-9a-f]{64}$')",message="digest must be sha256: and 64 hexadecimal digits"
	Digest string `json:"digest"`
	// repositories are the URLs of the repositories that have the layers, in the order in which they are tried, such as
	// https://registry.example.com/v2/releases/node-programs.
	//
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^https?://[A-Za-z0-9./:_-]+$') || self.matches('^https?://[[][0-9a-fA-F:]+[]][A-Za-z0-9./:_-]+$')",message="a repository must be a URL"
	// +listType=atomic
	Repositories []string `json:"repositories"`
	// layers are unpacked in this order.
	//
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Layers []NodeProgramsLayer `json:"layers"`
	// sandboxImage is the image of the pause container of each pod. Without it the default of the container runtime is used.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	SandboxImage string `json:"sandboxImage,omitempty"`
}

// NodeProgramsLayer is a tar archive that is compressed with gzip.
type NodeProgramsLayer struct {
	// digest is that of the compressed archive.
	//
	// +required
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[0-9a-f]{64}$')",message="digest must be sha256: and 64 hexadecimal digits"
	Digest string `json:"digest"`
	// size is the number of bytes of the compressed archive.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	Size int64 `json:"size"`
}

// NodeBootstrapStatus implements the contract of Cluster API for bootstrap providers
// (https://cluster-api.sigs.k8s.io/developer/providers/contracts/bootstrap-config).
type NodeBootstrapStatus struct {
	// initialization is the state that Cluster API waits for before it creates the machine.
	//
	// +optional
	Initialization NodeBootstrapInitialization `json:"initialization,omitempty,omitzero"`
	// dataSecretName is the Secret with the user data of the machine, under the key "value".
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DataSecretName string `json:"dataSecretName,omitempty"`
	// observedGeneration is the generation that this status describes.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions reports what the user data waits for.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeBootstrapInitialization is the state that Cluster API waits for.
//
// +kubebuilder:validation:MinProperties=1
type NodeBootstrapInitialization struct {
	// dataSecretCreated is true once the user data could be read.
	//
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// NodeBootstrap creates the user data of one machine: its configuration, and a bootstrap token with which this
// machine may join once.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nodebootstraps,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels=cluster.x-k8s.io/v1beta2=v1beta1
// +kubebuilder:printcolumn:name="NodePool",type=string,JSONPath=`.spec.nodePoolName`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.status.dataSecretName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +genclient
type NodeBootstrap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec NodeBootstrapSpec `json:"spec"`
	// +optional
	Status NodeBootstrapStatus `json:"status,omitempty"`

	unreadable `json:"-"`
}

// NodeBootstrapList is a list of NodeBootstraps.
// +kubebuilder:object:root=true
type NodeBootstrapList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeBootstrap `json:"items"`
}

// UnmarshalJSON decodes all fields that can be decoded; see Unreadable.
func (in *NodeBootstrap) UnmarshalJSON(text []byte) (err error) {
	type plain NodeBootstrap
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}
