package v1beta1

// ImageContentSource lists mirrors of an image repository, for images by digest.
type ImageContentSource struct {
	// source is the repository in the names of images.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Source string `json:"source,omitempty"`

	// mirrors lists repositories with the same content, in order of preference. The source itself is used last.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=255
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	Mirrors []string `json:"mirrors,omitempty"`
}
