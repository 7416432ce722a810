package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types and reasons of a ControlPlaneComponent.
const (
	// ControlPlaneComponentAvailable is True when the containers of the component are ready in enough pods. Several components may share
	// their pods. A new component has no conditions for ten seconds, unless it is available or has a problem.
	ControlPlaneComponentAvailable = "Available"
	// ControlPlaneComponentRolloutComplete is True when the component runs the desired version in all its pods.
	ControlPlaneComponentRolloutComplete = "RolloutComplete"

	// WaitingForDependenciesReason: the component waits for other components.
	WaitingForDependenciesReason = "WaitingForDependencies"
	// ReconciliationErrorReason: an object of the component could not be applied.
	ReconciliationErrorReason = "ReconciliationError"
	// WaitingForRolloutCompleteReason: pods are being replaced.
	WaitingForRolloutCompleteReason = "WaitingForRolloutComplete"
)

// ControlPlaneComponentSpec is empty: a component follows its HostedControlPlane.
type ControlPlaneComponentSpec struct{}

// ControlPlaneComponentStatus is the state of one component.
type ControlPlaneComponentStatus struct {
	// ObservedGeneration is the observed generation of the HostedControlPlane.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Version is the latest version that was rolled out completely.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Version string `json:"version,omitempty"`
	// Resources are the objects of the component.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	Resources []ComponentResource `json:"resources,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ComponentResource refers to one object of a component.
type ComponentResource struct {
	// +kubebuilder:validation:MaxLength=255
	Kind string `json:"kind"`
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Group string `json:"group,omitempty"`
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
}

// ControlPlaneComponent is the state of one component of a hosted control plane.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=controlplanecomponents,scope=Namespaced,shortName=cpc;cpcs
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="RolloutComplete",type=string,JSONPath=`.status.conditions[?(@.type=="RolloutComplete")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +genclient
type ControlPlaneComponent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ControlPlaneComponentSpec `json:"spec,omitempty"`
	// +optional
	Status ControlPlaneComponentStatus `json:"status,omitempty"`
}

// ControlPlaneComponentList is a list of ControlPlaneComponents.
// +kubebuilder:object:root=true
type ControlPlaneComponentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ControlPlaneComponent `json:"items"`
}
