package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeBootstrapTemplateSpec holds the template.
type NodeBootstrapTemplateSpec struct {
	// template is what Cluster API makes the NodeBootstrap of each machine from.
	//
	// +required
	Template NodeBootstrapTemplateResource `json:"template"`
}

// NodeBootstrapTemplateResource is a NodeBootstrap to be.
type NodeBootstrapTemplateResource struct {
	// metadata goes to every NodeBootstrap.
	//
	// +optional
	Metadata NodeBootstrapTemplateMetadata `json:"metadata,omitempty,omitzero"`
	// spec of every NodeBootstrap.
	//
	// +required
	Spec NodeBootstrapSpec `json:"spec"`
}

// NodeBootstrapTemplateMetadata is what of an object's metadata a template can give.
type NodeBootstrapTemplateMetadata struct {
	// labels of the NodeBootstraps.
	//
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the NodeBootstraps.
	//
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodeBootstrapTemplate is what Cluster API makes the NodeBootstraps of a NodePool's machines from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodebootstraptemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels=cluster.x-k8s.io/v1beta2=v1beta1
// +kubebuilder:printcolumn:name="NodePool",type=string,JSONPath=`.spec.template.spec.nodePoolName`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.template.spec.version`
// +kubebuilder:printcolumn:name="Config",type=string,JSONPath=`.spec.template.spec.configName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +genclient
type NodeBootstrapTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec NodeBootstrapTemplateSpec `json:"spec"`

	unreadable `json:"-"`
}

// NodeBootstrapTemplateList is a list of NodeBootstrapTemplates.
// +kubebuilder:object:root=true
type NodeBootstrapTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeBootstrapTemplate `json:"items"`
}

// UnmarshalJSON decodes what can be decoded; see Unreadable.
func (in *NodeBootstrapTemplate) UnmarshalJSON(text []byte) (err error) {
	type plain NodeBootstrapTemplate
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec,
	})
	return err
}
