package v1beta1

// ImageContentSource says where else the images of a repository can be pulled, by digest.
type ImageContentSource struct {
	// source is the repository as images name it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Source string `json:"source,omitempty"`

	// mirrors lists repositories with the same content, best first. The source itself is the last resort.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=255
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	Mirrors []string `json:"mirrors,omitempty"`
}
