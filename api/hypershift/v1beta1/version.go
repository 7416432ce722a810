package v1beta1

import (
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterVersionStatus reports the release that the cluster runs, its previous releases and the available ones.
type ClusterVersionStatus struct {
	// desired is the release that is being applied.
	//
	// +required
	Desired configv1.Release `json:"desired,omitzero"`

	// history lists the releases that were applied, newest first. A release that was applied partially is kept if it
	// led to a later one.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	History []configv1.UpdateHistory `json:"history,omitempty"`

	// observedGeneration is the generation of the object that this status describes.
	//
	// +required
	ObservedGeneration int64 `json:"observedGeneration"`

	// availableUpdates lists the releases that the update service recommends. It is null if there was no request, or
	// no response.
	//
	// +optional
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	AvailableUpdates []configv1.Release `json:"availableUpdates"`

	// conditionalUpdates lists the releases that are recommended only if certain risks do not apply.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	ConditionalUpdates []configv1.ConditionalUpdate `json:"conditionalUpdates,omitempty"`
}

// ControlPlaneVersionStatus reports the release that the management side of the control plane runs. It differs from
// the cluster's version while spec.controlPlaneRelease is set.
type ControlPlaneVersionStatus struct {
	// desired is the release that is being applied.
	//
	// +required
	Desired configv1.Release `json:"desired,omitzero"`

	// history lists the releases that were applied, newest first.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	History []ControlPlaneUpdateHistory `json:"history,omitempty"`

	// observedGeneration is the generation of the object that this status describes.
	//
	// +required
	ObservedGeneration int64 `json:"observedGeneration"`
}

// ControlPlaneUpdateHistory is one release that was applied to the control plane.
type ControlPlaneUpdateHistory struct {
	// state defines whether the release was applied completely.
	//
	// +required
	// +kubebuilder:validation:Enum=Completed;Partial
	State configv1.UpdateState `json:"state,omitempty"`

	// startedTime is the time at which the release was first applied.
	//
	// +required
	StartedTime metav1.Time `json:"startedTime,omitzero"`

	// completionTime is the time at which it was applied completely, or was replaced by another one. Absent while it
	// is being applied.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// version is the version of the release, such as 4.21.3.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Version string `json:"version,omitempty"`

	// image is the pull spec of the release payload.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
}
