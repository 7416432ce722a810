package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeBootstrapTemplateSpec holds the template.
type NodeBootstrapTemplateSpec struct {
	// template is the template from which Cluster API creates the NodeBootstrap of each machine.
	//
	// +required
	Template NodeBootstrapTemplateResource `json:"template"`
}

// NodeBootstrapTemplateResource is the metadata and spec of a NodeBootstrap.
type NodeBootstrapTemplateResource struct {
	// metadata is copied to every NodeBootstrap.
	//
	// +optional
	Metadata NodeBootstrapTemplateMetadata `json:"metadata,omitempty,omitzero"`
	// spec is the spec of every NodeBootstrap.
	//
	// +required
	Spec NodeBootstrapSpec `json:"spec"`
}

// NodeBootstrapTemplateMetadata is the part of an object's metadata that a template can set.
type NodeBootstrapTemplateMetadata struct {
	// labels are the labels of the NodeBootstraps.
	//
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations are the annotations of the NodeBootstraps.
	//
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodeBootstrapTemplate is the template from which Cluster API creates the NodeBootstraps of a NodePool's machines.
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

// UnmarshalJSON decodes all fields that can be decoded; see Unreadable.
func (in *NodeBootstrapTemplate) UnmarshalJSON(text []byte) (err error) {
	type plain NodeBootstrapTemplate
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec,
	})
	return err
}
