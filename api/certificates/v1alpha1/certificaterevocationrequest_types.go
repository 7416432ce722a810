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

// Conditions of a CertificateRevocationRequest. They become True in this order, and the revocation is complete with the last one.
const (
	// SignerClassValid: True if spec.signerClass is known.
	SignerClassValid = "SignerClassValid"
	// RootCertificatesRegenerated: True when a new authority exists.
	RootCertificatesRegenerated = "RootCertificatesRegenerated"
	// NewCertificatesTrusted: True when every pod of the API server accepts certificates of the new authority.
	NewCertificatesTrusted = "NewCertificatesTrusted"
	// LeafCertificatesRegenerated: True when the new authority signs, and has signed the operator's own certificate of the class again.
	LeafCertificatesRegenerated = "LeafCertificatesRegenerated"
	// PreviousCertificatesRevoked: True when every pod of the API server refuses certificates of the previous authority, and accepts
	// those of the new one.
	PreviousCertificatesRevoked = "PreviousCertificatesRevoked"
)

// Reasons of a CertificateRevocationRequest. The others are also reasons of a HostedControlPlane.
const (
	// SignerClassUnknownReason: this version has no authority of the class. Delete the request.
	SignerClassUnknownReason = "SignerClassUnknown"
	// RootCertificatesStaleReason: the previous authority still signs. The message names what the revocation waits for.
	RootCertificatesStaleReason = "RootCertificatesStale"
	// LeafCertificatesStaleReason: the operator's own certificate is not yet signed again.
	LeafCertificatesStaleReason = "LeafCertificatesStale"
	// PreviousSignerMissingReason: the Secret in status.previousSigner is gone or unreadable, so that the revocation cannot be verified.
	// Delete the request and create another one.
	PreviousSignerMissingReason = "PreviousSignerMissing"
)

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

// CertificateRevocationRequest revokes all certificates of a class of authorities, in the namespace of a control plane. A new authority
// replaces the previous one; certificates of other authorities do not change. Requests of one namespace are processed one after the other.
// A request that is deleted before its condition PreviousCertificatesRevoked is True revokes nothing for certain.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=certificaterevocationrequests,scope=Namespaced,shortName=crr;crrs
// +kubebuilder:printcolumn:name="Class",type="string",JSONPath=".spec.signerClass"
// +kubebuilder:printcolumn:name="Revoked",type="string",JSONPath=".status.conditions[?(@.type==\"PreviousCertificatesRevoked\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type CertificateRevocationRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec CertificateRevocationRequestSpec `json:"spec,omitzero"`
	// +optional
	Status CertificateRevocationRequestStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions.
func (in *CertificateRevocationRequest) GetConditions() []metav1.Condition {
	return in.Status.Conditions
}

// SetConditions replaces the conditions.
func (in *CertificateRevocationRequest) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// CertificateRevocationRequestList is a list of CertificateRevocationRequests.
// +kubebuilder:object:root=true
type CertificateRevocationRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CertificateRevocationRequest `json:"items"`
}
