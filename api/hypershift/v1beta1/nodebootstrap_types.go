package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of a NodeBootstrap.
const (
	// NodeBootstrapDataSecretCreatedCondition says that the user data of the machine is there. Its machine is made only then.
	NodeBootstrapDataSecretCreatedCondition = "DataSecretCreated"
	// NodeBootstrapReadyCondition says the same for as long as the machine lives. Cluster API shows it as BootstrapConfigReady
	// of the Machine.
	NodeBootstrapReadyCondition = "Ready"
	// NodeBootstrapPausedCondition says that nothing is done about the machine's user data. True is no fault: somebody asked
	// for it.
	NodeBootstrapPausedCondition = "Paused"
)

// Reasons of a NodeBootstrap.
const (
	// WaitingForMachineReason: Cluster API has not yet said which Machine it is for. Nothing needs to be done.
	WaitingForMachineReason = "WaitingForMachine"
	// WaitingForAPIServerReason: a node has to be told where the API server is and how to know it. The message says which of
	// the two is not known yet; the conditions of the HostedCluster say why.
	WaitingForAPIServerReason = "WaitingForAPIServer"
	// ConfigNotFoundReason: the Secret with the configuration of the node pool is not there. The operator writes it again at the
	// next pass over the NodePool; if it does not, look at the NodePool's conditions.
	ConfigNotFoundReason = "ConfigNotFound"
	// InvalidNodeInputReason: what the HostedCluster refers to for its nodes (ssh key, trust bundle, proxy) is missing or cannot
	// be read. The message names it: put it right, no new machine can be made before.
	InvalidNodeInputReason = "InvalidNodeInput"
	// UserDataTooLargeReason: EC2 takes no more than 16 KiB of user data. The message names what takes most of it: make that
	// smaller, or put it into the machine image.
	UserDataTooLargeReason = "UserDataTooLarge"
)

// NodeBootstrapSpec says which node is to be made. It is copied from a NodeBootstrapTemplate and never changes: another
// configuration is another template, and other machines.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot be changed: a machine starts with what it was made for"
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
	// version of Kubernetes that the node runs.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+([-+][0-9A-Za-z.+-]+)?$')",message="version must be a version of Kubernetes, such as v1.36.3"
	Version string `json:"version"`
}

// NodeBootstrapStatus satisfies the contract of Cluster API for bootstrap providers
// (https://cluster-api.sigs.k8s.io/developer/providers/contracts/bootstrap-config).
type NodeBootstrapStatus struct {
	// initialization is what Cluster API waits for before it makes the machine.
	//
	// +optional
	Initialization NodeBootstrapInitialization `json:"initialization,omitempty,omitzero"`
	// dataSecretName is the Secret with the user data of the machine, under the key "value".
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DataSecretName string `json:"dataSecretName,omitempty"`
	// observedGeneration is the generation that this status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions say what the user data waits for.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeBootstrapInitialization is what Cluster API waits for.
//
// +kubebuilder:validation:MinProperties=1
type NodeBootstrapInitialization struct {
	// dataSecretCreated says that the user data could be read at least once.
	//
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// NodeBootstrap makes the user data of one machine: its configuration, and a token of its own by which it may join once.
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

// UnmarshalJSON decodes what can be decoded; see Unreadable.
func (in *NodeBootstrap) UnmarshalJSON(text []byte) (err error) {
	type plain NodeBootstrap
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}
