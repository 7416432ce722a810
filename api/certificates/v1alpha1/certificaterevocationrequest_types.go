package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SignerClass is a class of certificate authorities.
//
// +kubebuilder:validation:Enum=customer-break-glass
type SignerClass string

// CustomerBreakGlass is the class of the authorities for access in an emergency.
const CustomerBreakGlass SignerClass = "customer-break-glass"

// CertificateRevocationRequestSpec names the authorities to revoke.
type CertificateRevocationRequestSpec struct {
	// signerClass is the class of the authorities whose certificates are revoked. There is one class only.
	//
	// +required
	SignerClass SignerClass `json:"signerClass,omitempty"`
}

// CertificateRevocationRequestStatus is the observed state of a revocation.
type CertificateRevocationRequestStatus struct {
	// revocationTimestamp is the time before which all certificates are revoked.
	//
	// +optional
	RevocationTimestamp *metav1.Time `json:"revocationTimestamp,omitempty"`

	// previousSigner refers to the Secret with the revoked authority.
	//
	// +optional
	PreviousSigner *corev1.LocalObjectReference `json:"previousSigner,omitempty"`

	// conditions reports the state of the revocation.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=10
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CertificateRevocationRequest revokes the certificates of a class of authorities. It is accepted for compatibility with
// HyperShift. No controller acts on it: its status stays empty, and no certificate is revoked. Each response of the API
// server has a warning about this.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=certificaterevocationrequests,scope=Namespaced,shortName=crr;crrs
// +kubebuilder:deprecatedversion:warning="CertificateRevocationRequest has no effect in this version: no controller revokes certificates. To replace the authorities of a hosted cluster, see docs/certificates.md."
type CertificateRevocationRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec CertificateRevocationRequestSpec `json:"spec,omitzero"`
	// +optional
	Status CertificateRevocationRequestStatus `json:"status,omitzero"`
}

// CertificateRevocationRequestList is a list of CertificateRevocationRequests.
// +kubebuilder:object:root=true
type CertificateRevocationRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CertificateRevocationRequest `json:"items"`
}
