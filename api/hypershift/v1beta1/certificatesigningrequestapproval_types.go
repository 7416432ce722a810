package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CertificateSigningRequestApprovalSpec is empty: the approval is the object itself.
type CertificateSigningRequestApprovalSpec struct{}

// CertificateSigningRequestApprovalStatus is empty.
type CertificateSigningRequestApprovalStatus struct{}

// CertificateSigningRequestApproval approves the CertificateSigningRequest with its name, in the namespace of a control plane, for
// access in an emergency. It approves one request: the first one with this name. The kind of the same name in the group
// certificates.hypershift.openshift.io has the same effect.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=certificatesigningrequestapprovals,scope=Namespaced,shortName=csra;csras
// +genclient
// +genclient:noStatus
type CertificateSigningRequestApproval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec CertificateSigningRequestApprovalSpec `json:"spec,omitempty"`
	// +optional
	Status CertificateSigningRequestApprovalStatus `json:"status,omitempty"`
}

// CertificateSigningRequestApprovalList is a list of CertificateSigningRequestApprovals.
// +kubebuilder:object:root=true
type CertificateSigningRequestApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CertificateSigningRequestApproval `json:"items"`
}
