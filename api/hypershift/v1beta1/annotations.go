package v1beta1

// Annotations of a HostedCluster that change how its control plane runs.
const (
	// RestartDateAnnotation restarts the pods of the control plane when its value changes. Its removal restarts
	// nothing.
	RestartDateAnnotation = "hypershift.openshift.io/restart-date"
	// CleanupCloudResourcesAnnotation, if "false", keeps the cloud resources that the hosted cluster created: load
	// balancers with their security groups, volumes, snapshots. With every other value, and without the annotation,
	// the deletion of a HostedCluster on AWS removes them. status.leftBehind lists those that could not be removed.
	CleanupCloudResourcesAnnotation = "hypershift.openshift.io/cleanup-cloud-resources"
	// ControlPlanePriorityClassAnnotation is the PriorityClass of pods of the control plane. It replaces
	// hypershift-control-plane. The installation has a list of permitted classes.
	ControlPlanePriorityClassAnnotation = "hypershift.openshift.io/control-plane-priority-class"
	// APICriticalPriorityClassAnnotation is the PriorityClass that replaces hypershift-api-critical.
	APICriticalPriorityClassAnnotation = "hypershift.openshift.io/api-critical-priority-class"
	// MemoryLimitFactorAnnotation is the memory limit of the containers of the control plane, as a multiple of their
	// memory request. It replaces the factor of the installation. It is a whole number; the installation has a
	// maximum.
	MemoryLimitFactorAnnotation = "hypershift.openshift.io/memory-limit-factor"
	// DisablePKIReconciliationAnnotation, if "true", stops the operator from creating and renewing the certificates
	// and kubeconfigs of the control plane. The user supplies them.
	DisablePKIReconciliationAnnotation = "hypershift.openshift.io/disable-pki-reconciliation"
	// RotateCertificatesAnnotation replaces the certificate authorities of the control plane when its value changes.
	// Old and new authorities are both trusted until all programs use the new ones.
	RotateCertificatesAnnotation = "hypershift.openshift.io/rotate-certificates"
	// EtcdPriorityClassAnnotation is the PriorityClass that replaces hypershift-etcd.
	EtcdPriorityClassAnnotation = "hypershift.openshift.io/etcd-priority-class"
	// CertificateValidityAnnotation is the validity of new certificates, such as 2160h. The default is a year, the
	// minimum an hour.
	CertificateValidityAnnotation = "hypershift.openshift.io/certificate-validity"
	// CertificateRenewalAnnotation is the fraction of the validity that is left when a certificate is renewed, such
	// as 0.5. The default is a third. It is more than 0, and 0.9 at most.
	CertificateRenewalAnnotation = "hypershift.openshift.io/certificate-renewal"
	// RotationPauseAnnotation is the minimum duration of each step of a rotation of certificate authorities, such as
	// 24h. The default is five minutes. Programs with open connections to the API server need this time to restart
	// between two steps.
	RotationPauseAnnotation = "hypershift.openshift.io/certificate-rotation-pause"
	// PodNetworkAnnotation, if PodNetworkUnmanaged, leaves the pod network to the user, although networkType names the
	// one of the release: nothing is installed, updated or removed. An installed pod network keeps running.
	PodNetworkAnnotation = "hypershift.openshift.io/pod-network"
	// DisableClusterAutoscalerAnnotation, if "true", removes the cluster autoscaler. Node pools with autoScaling keep the
	// number of nodes that they have, within their bounds.
	DisableClusterAutoscalerAnnotation = "hypershift.openshift.io/disable-cluster-autoscaler"
)

// PodNetworkUnmanaged is the value of PodNetworkAnnotation that leaves the pod network to the user.
const PodNetworkUnmanaged = "Unmanaged"

// ClusterAutoscalerAnnotation is "true" on a HostedControlPlane for which the hypershift-operator runs the cluster autoscaler.
// The control-plane-operator creates its kubeconfig and its permissions in the hosted cluster.
const ClusterAutoscalerAnnotation = "hypershift.openshift.io/cluster-autoscaler"
