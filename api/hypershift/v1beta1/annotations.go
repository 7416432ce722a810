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
	// the control plane, in the place of hypershift-control-plane.
	ControlPlanePriorityClassAnnotation = "hypershift.openshift.io/control-plane-priority-class"
	// APICriticalPriorityClassAnnotation does so in the place of hypershift-api-critical.
	APICriticalPriorityClassAnnotation = "hypershift.openshift.io/api-critical-priority-class"
	// EtcdPriorityClassAnnotation does so in the place of hypershift-etcd.
	EtcdPriorityClassAnnotation = "hypershift.openshift.io/etcd-priority-class"
)
