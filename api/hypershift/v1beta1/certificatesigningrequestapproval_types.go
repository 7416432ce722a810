package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CertificateSigningRequestApprovalSpec is empty: the approval is the object itself.
type CertificateSigningRequestApprovalSpec struct{}

// CertificateSigningRequestApprovalStatus is empty.
type CertificateSigningRequestApprovalStatus struct{}

// CertificateSigningRequestApproval approves the CertificateSigningRequest with its name for access in an emergency. It is
// accepted for compatibility with HyperShift. No controller acts on it: no certificate is signed. Each response of the API
// server has a warning about this.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=certificatesigningrequestapprovals,scope=Namespaced,shortName=csra;csras
// +kubebuilder:deprecatedversion:warning="CertificateSigningRequestApproval has no effect in this version: no controller signs the certificate. Use the administrator's kubeconfig of the HostedCluster."
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
