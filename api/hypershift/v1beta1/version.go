package v1beta1

import (
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterVersionStatus says which release the cluster runs, which ones it ran, and which ones it could run.
type ClusterVersionStatus struct {
	// desired is the release that the cluster is being brought to.
	//
	// +required
	Desired configv1.Release `json:"desired,omitzero"`

	// history lists the releases that were applied, newest first. One that was only partly applied is kept when it led to a
	// later one.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	History []configv1.UpdateHistory `json:"history,omitempty"`

	// observedGeneration is the generation of the object that this status speaks of.
	//
	// +required
	ObservedGeneration int64 `json:"observedGeneration"`

	// availableUpdates lists the releases that the update service recommends. null means that it was not asked, or did not
	// answer.
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

// ControlPlaneVersionStatus says which release the management side of the control plane runs. It differs from the cluster's
// version while spec.controlPlaneRelease is set.
type ControlPlaneVersionStatus struct {
	// desired is the release that the control plane is being brought to.
	//
	// +required
	Desired configv1.Release `json:"desired,omitzero"`

	// history lists the releases that were applied, newest first.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	History []ControlPlaneUpdateHistory `json:"history,omitempty"`

	// observedGeneration is the generation of the object that this status speaks of.
	//
	// +required
	ObservedGeneration int64 `json:"observedGeneration"`
}

// ControlPlaneUpdateHistory is one release that was applied to the control plane.
type ControlPlaneUpdateHistory struct {
	// state says whether the release was applied completely.
	//
	// +required
	// +kubebuilder:validation:Enum=Completed;Partial
	State configv1.UpdateState `json:"state,omitempty"`

	// startedTime is when the release was first applied.
	//
	// +required
	StartedTime metav1.Time `json:"startedTime,omitzero"`

	// completionTime is when it was completely applied, or when another one took its place. Absent while it is being applied.
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
