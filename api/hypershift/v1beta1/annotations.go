package v1beta1

// Annotations of a HostedCluster that its control plane acts on.
const (
	// RestartDateAnnotation, when it gets another value, restarts the pods of
	// the control plane. To take it away restarts nothing.
	RestartDateAnnotation = "hypershift.openshift.io/restart-date"
	// CleanupCloudResourcesAnnotation, if "true", lets the deletion wait until the
	// hosted cluster has removed what it made in the cloud: load balancers,
	// volumes, buckets.
	CleanupCloudResourcesAnnotation = "hypershift.openshift.io/cleanup-cloud-resources"
	// ControlPlanePriorityClassAnnotation names the PriorityClass of pods of
	// the control plane, in the place of hypershift-control-plane. The installation
	// has a list of those that are allowed.
	ControlPlanePriorityClassAnnotation = "hypershift.openshift.io/control-plane-priority-class"
	// APICriticalPriorityClassAnnotation does so in the place of hypershift-api-critical.
	APICriticalPriorityClassAnnotation = "hypershift.openshift.io/api-critical-priority-class"
	// MemoryLimitFactorAnnotation is the memory limit of the containers of the control plane, as a multiple of what they
	// request, in the place of what the installation sets. It is a whole number; the installation has a maximum.
	MemoryLimitFactorAnnotation = "hypershift.openshift.io/memory-limit-factor"
	// DisablePKIReconciliationAnnotation, if "true", leaves the certificates and
	// kubeconfigs of the control plane to whoever brings them.
	DisablePKIReconciliationAnnotation = "hypershift.openshift.io/disable-pki-reconciliation"
	// RotateCertificatesAnnotation, when it gets another value, replaces the
	// certificate authorities of the control plane, one trusted beside the other
	// until everything has changed over.
	RotateCertificatesAnnotation = "hypershift.openshift.io/rotate-certificates"
	// EtcdPriorityClassAnnotation does so in the place of hypershift-etcd.
	EtcdPriorityClassAnnotation = "hypershift.openshift.io/etcd-priority-class"
	// CertificateValidityAnnotation is for how long certificates are made out, such as 2160h, in the place of a year.
	// It is an hour at least.
	CertificateValidityAnnotation = "hypershift.openshift.io/certificate-validity"
	// CertificateRenewalAnnotation is the share of that time that is left when they are renewed, such as 0.5, in the place of
	// a third. It is more than 0, and 0.9 at most.
	CertificateRenewalAnnotation = "hypershift.openshift.io/certificate-renewal"
	// RotationPauseAnnotation is how long each step of a rotation of certificate authorities takes at least, such as 24h, in the
	// place of five minutes: time for programs that hold connections to the API server to be started again between two steps.
	RotationPauseAnnotation = "hypershift.openshift.io/certificate-rotation-pause"
)
