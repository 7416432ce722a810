package clusterapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Owner returns the owner reference of the objects of a Cluster, exactly as Cluster
// API sets it where it is missing. With OwnerReferencesPermissionEnforcement, which
// OpenShift enables, an owner can be set only with the permission to delete the
// object, which Cluster API does not have here. There is no owner while there is no
// Cluster, nor while it is being deleted: the control plane would be deleted with it.
func Owner(c *clusterv1.Cluster) []metav1.OwnerReference {
	if c == nil || !c.DeletionTimestamp.IsZero() {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: c.Name, UID: c.UID}}
}
