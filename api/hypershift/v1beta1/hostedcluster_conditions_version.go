package v1beta1

// Condition types that the HostedControlPlane takes from the ClusterVersion object inside the hosted cluster, and the
// HostedCluster repeats. Clusters without such an object do not have them.
const (
	// ClusterVersionSucceeding says that the cluster-version-operator brings the release into being without an error. If
	// False, the message names the part that fails.
	ClusterVersionSucceeding = "ClusterVersionSucceeding"
	// ClusterVersionProgressing says that it is at work. False is the calm state.
	ClusterVersionProgressing = "ClusterVersionProgressing"
	// ClusterVersionReleaseAccepted says that it has accepted the release. If False, it could not be read or verified; choose
	// another one.
	ClusterVersionReleaseAccepted = "ClusterVersionReleaseAccepted"
	// ClusterVersionRetrievedUpdates says that the update service answered. If False, check spec.channel and
	// spec.updateService.
	ClusterVersionRetrievedUpdates = "ClusterVersionRetrievedUpdates"
	// ClusterVersionUpgradeable says that nothing stands against the next minor release. If False, do what the message asks
	// for before upgrading.
	ClusterVersionUpgradeable = "ClusterVersionUpgradeable"
	// ClusterVersionAvailable says that all parts of the release work inside the cluster.
	ClusterVersionAvailable = "ClusterVersionAvailable"
)

// Condition types of a HostedCluster about its size.
const (
	// ClusterSizeComputed says how large the cluster is by its number of nodes; the reason is the size.
	ClusterSizeComputed = "ClusterSizeComputed"
	// ClusterSizeTransitionPending says that another size was computed and is held back, so as not to change too often. False
	// is the calm state.
	ClusterSizeTransitionPending = "ClusterSizeTransitionPending"
	// ClusterSizeTransitionRequired says that the control plane is to be brought to another size. False is the calm state.
	ClusterSizeTransitionRequired = "ClusterSizeTransitionRequired"
)

// Condition types that appear while a cluster is being deleted.
const (
	// CloudResourcesDestroyed says that what the hosted cluster made in the cloud (load balancers, volumes, buckets) is gone.
	// If False, the message names what is left. Nothing needs to be done while it shrinks.
	CloudResourcesDestroyed = "CloudResourcesDestroyed"
	// HostedClusterDestroyed says that everything is gone and that only the grace period is being waited for.
	HostedClusterDestroyed = "HostedClusterDestroyed"
)

// Condition types of a HostedControlPlane only.
const (
	// HostedControlPlaneAvailable says that infrastructure, etcd and API server are available and the configuration is valid.
	// If False, the message names what is missing.
	HostedControlPlaneAvailable = "Available"
	// HostedControlPlaneDegraded says that parts of the control plane have fewer pods than they should. False is good.
	HostedControlPlaneDegraded = "Degraded"
	// EtcdSnapshotRestored says that etcd was filled from the snapshot in spec.etcd.managed.storage.restoreSnapshotURL. If
	// False, check the URL and whether it has expired.
	EtcdSnapshotRestored = "EtcdSnapshotRestored"
	// CVOScaledDown says that the cluster-version-operator was stopped before deletion, so that it does not restore what is
	// being removed.
	CVOScaledDown = "CVOScaledDown"
)
