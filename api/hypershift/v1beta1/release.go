package v1beta1

// Release is the release payload that a cluster runs.
type Release struct {
	// image is the pull spec of the release payload, by tag or by digest. A digest identifies exactly one payload.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches('^\\w\\S+$')`,message="must start with a letter, a digit or an underscore, and hold no blanks"
	Image string `json:"image,omitempty"`
}
