package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "certificates.hypershift.openshift.io", Version: "v1alpha1"}
	// SchemeBuilder collects the functions that AddToScheme runs.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&CertificateRevocationRequest{}, &CertificateRevocationRequestList{},
		&CertificateSigningRequestApproval{}, &CertificateSigningRequestApprovalList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
