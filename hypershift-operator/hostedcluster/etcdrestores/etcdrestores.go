// Package etcdrestores selects the EtcdRestore of a hosted cluster that is carried out. Restores of one cluster are made one after the other.
// One that has begun is finished, also if it is deleted: the control plane may have no data otherwise. If it cannot be finished, a user deletes
// it and creates another, which replaces it.
package etcdrestores

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Current returns the restore of a HostedCluster that has begun, or else the oldest that has not ended, or nil. It must not be changed.
func Current(ctx context.Context, c client.Reader, hostedCluster client.ObjectKey) (*hyperv1.EtcdRestore, error) {
	var list hyperv1.EtcdRestoreList
	if err := c.List(ctx, &list, client.InNamespace(hostedCluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing EtcdRestores of namespace %s: %w", hostedCluster.Namespace, err)
	}
	var current *hyperv1.EtcdRestore
	for i := range list.Items {
		r := &list.Items[i]
		if r.Spec.HostedClusterName != hostedCluster.Name || r.Unreadable() != "" || hyperv1.IsRestoreFinished(r) || !Begun(r) && !r.DeletionTimestamp.IsZero() {
			continue
		}
		if current == nil || goesFirst(r, current) {
			current = r
		}
	}
	return current, nil
}

// Begun reports whether the restore is to be finished, because the control plane may have stopped for it.
func Begun(r *hyperv1.EtcdRestore) bool { return r.Status.StartTime != nil }

func goesFirst(a, b *hyperv1.EtcdRestore) bool {
	switch {
	case a.DeletionTimestamp.IsZero() != b.DeletionTimestamp.IsZero():
		return a.DeletionTimestamp.IsZero()
	case Begun(a) != Begun(b):
		return Begun(a)
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// Wanted returns the UID of the restore for the annotation of the HostedControlPlane: that of one that has begun, or of any if the cluster
// has never been up and so has no data to lose. It is empty without such a restore.
func Wanted(current *hyperv1.EtcdRestore, hcp *hyperv1.HostedControlPlane) string {
	if current == nil || !Begun(current) && hcp != nil && hcp.Status.Initialized {
		return ""
	}
	return string(current.UID)
}

// Stops reports whether the control plane has to stop for the restore, because etcd runs with other data.
func Stops(current *hyperv1.EtcdRestore, hcp *hyperv1.HostedControlPlane) bool {
	return current != nil && Begun(current) && hcp != nil && hcp.Status.Initialized && hcp.Status.EtcdRestore != string(current.UID)
}
