package v1beta1

// HasImageRegistry reports whether the cluster is to have the image registry of its release.
func (in *HostedControlPlane) HasImageRegistry() bool {
	return in.Spec.Capabilities.Enables(ImageRegistryCapability)
}

// ImageRegistryRecord records the bucket of the image registry, and the AWS identity to manage it with.
type ImageRegistryRecord struct {
	// bucket is the name of the bucket.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	Bucket string `json:"bucket,omitempty"`
	// region is the region of the bucket.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region,omitempty"`
	// issuerURL is the issuer of the tokens with which the operator and the registry authenticate to AWS.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	IssuerURL string `json:"issuerURL,omitempty"`
	// roleARN is the role that they assume with those tokens. Its account owns the bucket.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	RoleARN string `json:"roleARN,omitempty"`
	// ready is false once the creation of the bucket has begun, and true once it exists with its settings.
	// +optional
	Ready *bool `json:"ready,omitempty"`
}
