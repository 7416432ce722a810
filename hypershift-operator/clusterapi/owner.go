// Package clusterapi says what Cluster API wants of objects that we make.
package clusterapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Owner makes the Cluster the owner of what belongs to it, word for word as
// Cluster API does where it is not yet: with OwnerReferencesPermissionEnforcement,
// which OpenShift has, only who may delete an object may give it an owner, and
// Cluster API may not delete ours. Nobody is the owner while there is no Cluster
// or while it goes, which must not take a control plane along.
func Owner(c *clusterv1.Cluster) []metav1.OwnerReference {
	if c == nil || !c.DeletionTimestamp.IsZero() {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: c.Name, UID: c.UID}}
}
