package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types and reasons of a ControlPlaneComponent.
const (
	// ControlPlaneComponentAvailable says that enough pods of the component are ready.
	ControlPlaneComponentAvailable = "Available"
	// ControlPlaneComponentRolloutComplete says that all its pods run the wanted version.
	ControlPlaneComponentRolloutComplete = "RolloutComplete"

	// WaitingForDependenciesReason: the components it needs come first; the message names them.
	WaitingForDependenciesReason = "WaitingForDependencies"
	// ReconciliationErrorReason: its objects could not be applied; the message says why.
	ReconciliationErrorReason = "ReconciliationError"
	// WaitingForRolloutCompleteReason: pods are being replaced; nothing needs to be done.
	WaitingForRolloutCompleteReason = "WaitingForRolloutComplete"
	// WaitingForOperandsReason: what the component itself deploys is not ready yet.
	WaitingForOperandsReason = "WaitingForOperands"
)

// ControlPlaneComponentSpec is empty: a component follows its HostedControlPlane.
type ControlPlaneComponentSpec struct{}

// ControlPlaneComponentStatus is the state of one component.
type ControlPlaneComponentStatus struct {
	// ObservedGeneration of the HostedControlPlane.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Version whose roll-out is complete.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Version string `json:"version,omitempty"`
	// Resources that make up the component.
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

// ComponentResource names one object of a component.
type ComponentResource struct {
	// +kubebuilder:validation:MaxLength=255
	Kind string `json:"kind"`
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Group string `json:"group,omitempty"`
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
}

// ControlPlaneComponent is the state of one part of a hosted control plane.
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
