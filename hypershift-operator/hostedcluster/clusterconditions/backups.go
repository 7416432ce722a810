package clusterconditions

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// backupSucceeded reports the last backup that has ended. Without one, as after it was deleted, the last report stays.
func backupSucceeded(f *Facts) metav1.Condition {
	last := LastBackup(f.Backups, hyperv1.IsBackupFinished)
	if last == nil {
		return f.fromSteps(hyperv1.EtcdBackupSucceeded)
	}
	c := completion(last)
	return f.is(c.Status, c.Reason, last.Name+": "+c.Message)
}

// LastBackup returns the backup that ended last among those that a filter accepts, or nil.
func LastBackup(backups []hyperv1.HCPEtcdBackup, accepts func(*hyperv1.HCPEtcdBackup) bool) *hyperv1.HCPEtcdBackup {
	var last *hyperv1.HCPEtcdBackup
	for i := range backups {
		if b := &backups[i]; accepts(b) && completion(b) != nil && (last == nil || completion(last).LastTransitionTime.Before(&completion(b).LastTransitionTime)) {
			last = b
		}
	}
	return last
}

// Stored accepts backups that are stored.
func Stored(b *hyperv1.HCPEtcdBackup) bool {
	return b.Status.SnapshotURL != "" && hyperv1.IsBackupFinished(b)
}

func completion(b *hyperv1.HCPEtcdBackup) *metav1.Condition {
	return meta.FindStatusCondition(b.Status.Conditions, hyperv1.BackupCompleted)
}
