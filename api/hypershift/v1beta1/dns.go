package v1beta1

// DNSSpec configures the DNS names of the hosted cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.baseDomainPrefix) || size(self.baseDomainPrefix) == 0 || !format.dns1123Subdomain().validate(self.baseDomainPrefix).hasValue()",message="baseDomainPrefix must be made of dot-separated labels of lower-case letters, digits and dashes"
type DNSSpec struct {
	// baseDomain is the domain of the cluster's applications and routes. May be empty for a cluster without its own domain.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || !format.dns1123Subdomain().validate(self).hasValue()",message="must be empty or a domain name"
	BaseDomain string `json:"baseDomain"`

	// baseDomainPrefix is the part between the name of the cluster's applications and the base domain. The default is
	// the name of the cluster. If it is empty, there is no such part. It cannot be changed once it is set.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	BaseDomainPrefix *string `json:"baseDomainPrefix,omitempty"`

	// publicZoneID is the id of the hosted zone for the public names of applications, if capabilities enables Ingress. It cannot be changed
	// once it is set.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=258
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/hostedzone/)?Z[A-Z0-9]+$')",message="must be the id of a Route53 hosted zone, such as Z0123456789ABCDEFGHIJ"
	PublicZoneID string `json:"publicZoneID,omitempty"`

	// privateZoneID is the id of the hosted zone for the names of applications that only the cluster's own network resolves, if
	// capabilities enables Ingress. It cannot be changed once it is set.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=265
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/hostedzone/)?Z[A-Z0-9]+$')",message="must be the id of a Route53 hosted zone, such as Z0123456789ABCDEFGHIJ"
	PrivateZoneID string `json:"privateZoneID,omitempty"`
}
