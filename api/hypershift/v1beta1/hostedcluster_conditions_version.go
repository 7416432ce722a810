package v1beta1

// Condition types that are copied from the ClusterVersion object inside the hosted cluster to the HostedControlPlane
// and the HostedCluster. They are absent in clusters without such an object.
const (
	// ClusterVersionSucceeding is True when the cluster-version-operator applies the release without errors. If
	// False, the message names the component that fails.
	ClusterVersionSucceeding = "ClusterVersionSucceeding"
	// ClusterVersionProgressing is True while the cluster-version-operator applies a release. False is normal.
	ClusterVersionProgressing = "ClusterVersionProgressing"
	// ClusterVersionReleaseAccepted is True when the cluster-version-operator has accepted the release. If False, the
	// release could not be read or verified. Set another release.
	ClusterVersionReleaseAccepted = "ClusterVersionReleaseAccepted"
	// ClusterVersionRetrievedUpdates is True when the update service responded. If False, check spec.channel and
	// spec.updateService.
	ClusterVersionRetrievedUpdates = "ClusterVersionRetrievedUpdates"
	// ClusterVersionUpgradeable is True when nothing prevents an upgrade to the next minor release. If False, follow
	// the message before you upgrade.
	ClusterVersionUpgradeable = "ClusterVersionUpgradeable"
	// ClusterVersionAvailable is True when all components of the release are available inside the cluster.
	ClusterVersionAvailable = "ClusterVersionAvailable"
)

// Condition types of a HostedCluster about its size.
const (
	// ClusterSizeComputed is True when the size of the cluster was computed from its number of nodes. The reason is
	// the size.
	ClusterSizeComputed = "ClusterSizeComputed"
	// ClusterSizeTransitionPending is True while a transition to another size is delayed, so that the size does not
	// change too often. False is normal.
	ClusterSizeTransitionPending = "ClusterSizeTransitionPending"
	// ClusterSizeTransitionRequired is True while the control plane has to change to another size. False is normal.
	ClusterSizeTransitionRequired = "ClusterSizeTransitionRequired"
)

// Condition types that appear while a cluster is being deleted.
const (
	// CloudResourcesDestroyed is True when the cloud resources that the hosted cluster created (load balancers,
	// volumes, snapshots) are deleted. If False, the message lists the remaining ones. No action is needed while their
	// number decreases.
	CloudResourcesDestroyed = "CloudResourcesDestroyed"
	// HostedClusterDestroyed is True when everything is deleted and only the grace period remains.
	HostedClusterDestroyed = "HostedClusterDestroyed"
)

// Condition types of a HostedControlPlane only.
const (
	// HostedControlPlaneAvailable is True when infrastructure, etcd and API server are available and the
	// configuration is valid. If False, the message contains the reason.
	HostedControlPlaneAvailable = "Available"
	// HostedControlPlaneDegraded is True while components of the control plane have fewer ready pods than desired.
	// False is normal.
	HostedControlPlaneDegraded = "Degraded"
	// EtcdSnapshotRestored is True when etcd was restored from the snapshot in
	// spec.etcd.managed.storage.restoreSnapshotURL. If False, check the URL and whether it has expired.
	EtcdSnapshotRestored = "EtcdSnapshotRestored"
	// CVOScaledDown is True when the cluster-version-operator was scaled down before deletion, so that it does not
	// restore deleted objects.
	CVOScaledDown = "CVOScaledDown"
)
