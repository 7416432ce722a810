package v1beta1

// Condition types that are copied from the ClusterVersion object of OpenShift elsewhere. The control-plane-operator derives them
// from the release's components and objects in the hosted cluster.
const (
	// ClusterVersionReleaseAccepted is True when the release payload was read and has an image for every component. If
	// False, follow ValidReleaseInfo.
	ClusterVersionReleaseAccepted = "ClusterVersionReleaseAccepted"
	// ClusterVersionProgressing is True while a release is rolled out. False is normal.
	ClusterVersionProgressing = "ClusterVersionProgressing"
	// ClusterVersionSucceeding is True while the release is applied without errors. What only takes time is no error.
	ClusterVersionSucceeding = "ClusterVersionSucceeding"
	// ClusterVersionAvailable is True when a release has been rolled out completely, the API server and etcd are available, and the
	// release's objects in the hosted cluster are up to date.
	ClusterVersionAvailable = "ClusterVersionAvailable"
)

// Condition types that appear while a cluster is being deleted.
const (
	// CloudResourcesDestroyed is True when the load balancers, volumes and snapshots that the hosted cluster created are deleted.
	CloudResourcesDestroyed = "CloudResourcesDestroyed"
	// HostedClusterDestroyed is True when everything is deleted and only the grace period remains.
	HostedClusterDestroyed = "HostedClusterDestroyed"
)

// Condition types of a HostedControlPlane only.
const (
	// HostedControlPlaneAvailable is True when infrastructure, etcd and API server are available and the configuration is valid.
	HostedControlPlaneAvailable = "Available"
	// HostedControlPlaneDegraded is True while components have fewer ready pods than desired. False is normal.
	HostedControlPlaneDegraded = "Degraded"
	// EtcdSnapshotRestored is True when etcd was restored from the snapshot in
	// spec.etcd.managed.storage.restoreSnapshotURL. If False, check the URL and whether it has expired.
	EtcdSnapshotRestored = "EtcdSnapshotRestored"
)
