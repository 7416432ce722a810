package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "hypershift.openshift.io", Version: "v1beta1"}
	// SchemeGroupVersion is the name that generated code uses for GroupVersion.
	SchemeGroupVersion = GroupVersion
	// SchemeBuilder collects the functions that AddToScheme runs.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource returns the group resource with the given name.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&HostedCluster{}, &HostedClusterList{},
		&NodePool{}, &NodePoolList{},
		&HostedControlPlane{}, &HostedControlPlaneList{},
		&AWSEndpointService{}, &AWSEndpointServiceList{},
		&ControlPlaneComponent{}, &ControlPlaneComponentList{},
		&NodeBootstrap{}, &NodeBootstrapList{},
		&NodeBootstrapTemplate{}, &NodeBootstrapTemplateList{},
		&HCPEtcdBackup{}, &HCPEtcdBackupList{},
		&EtcdBackupSchedule{}, &EtcdBackupScheduleList{},
		&EtcdRestore{}, &EtcdRestoreList{},
		&CertificateSigningRequestApproval{}, &CertificateSigningRequestApprovalList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
