package hostedapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// restoredCondition reports whether etcd has begun with the user's snapshot. ok is false without a snapshot. In a
// cluster that has been up the restore has succeeded, because etcd does not start before.
func restoredCondition(hcp *hyperv1.HostedControlPlane, health answer) (c metav1.Condition, ok bool) {
	m := hcp.Spec.Etcd.Managed
	if m == nil || len(m.Storage.RestoreSnapshotURL) == 0 {
		return c, false
	}
	c = metav1.Condition{Type: hyperv1.EtcdSnapshotRestored, Status: metav1.ConditionFalse}
	switch {
	case hcp.Status.Initialized:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, hyperv1.AsExpectedReason, "etcd began with the snapshot"
	case health.etcd != nil:
		c.Reason, c.Message = health.etcd.reason, health.etcd.message
	default:
		c.Reason, c.Message = hyperv1.EtcdWaitingForQuorumReason, "the cluster has not been up yet"
	}
	return c, true
}
