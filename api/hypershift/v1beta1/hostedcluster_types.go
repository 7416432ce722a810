package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HostedCluster is a Kubernetes cluster. Its control plane runs as pods in the management cluster, where this object
// exists. Its workers run in the user's account.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=hostedclusters,shortName=hc;hcs,scope=Namespaced,categories=hypershift
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version.history[?(@.state=="Completed")].version`,description="Version of the last complete roll-out"
// +kubebuilder:printcolumn:name="CP Version",type=string,JSONPath=`.status.controlPlaneVersion.history[?(@.state=="Completed")].version`,description="Version of the control plane's last complete roll-out"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the cluster can be used: the control plane serves, reaches the nodes, and runs what spec asks for"
// +kubebuilder:printcolumn:name="KubeConfig",type=string,JSONPath=`.status.kubeconfig.name`,description="Secret with the administrator's kubeconfig"
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.version.history[?(@.state!="")].state`,description="State of the roll-outs, newest first"
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the control plane serves"
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`,description="Whether a roll-out is under way"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="What the cluster is waiting for"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Access",type=string,priority=1,JSONPath=`.spec.platform.aws.endpointAccess`,description="Networks from which the API server can be reached"
// +kubebuilder:printcolumn:name="Region",type=string,priority=1,JSONPath=`.spec.platform.aws.region`,description="AWS region of the workers"
// +kubebuilder:printcolumn:name="Endpoint",type=string,priority=1,JSONPath=`.status.controlPlaneEndpoint.host`,description="Host name of the API server"
// +kubebuilder:printcolumn:name="Infra ID",type=string,priority=1,JSONPath=`.spec.infraID`,description="Identifier in the names and tags of the AWS resources"
// +kubebuilder:printcolumn:name="CP Progress",type=string,priority=1,JSONPath=`.status.controlPlaneVersion.history[0].state`,description="State of the control plane's newest roll-out"
// +kubebuilder:printcolumn:name="DP Progress",type=string,priority=1,JSONPath=`.status.version.history[0].state`,description="State of the cluster's newest roll-out"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters, because it becomes part of the name of a namespace"
type HostedCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	//
	// +required
	Spec HostedClusterSpec `json:"spec,omitzero"`

	// status is the observed state.
	//
	// +optional
	Status HostedClusterStatus `json:"status,omitzero"`

	unreadable `json:"-"`
}

// HostedClusterList is a list of HostedClusters.
//
// +kubebuilder:object:root=true
type HostedClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []HostedCluster `json:"items"`
}

// UnmarshalJSON decodes all fields that can be decoded; see Unreadable.
func (in *HostedCluster) UnmarshalJSON(text []byte) (err error) {
	type plain HostedCluster
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}
