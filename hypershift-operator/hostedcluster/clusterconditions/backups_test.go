package clusterconditions

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func endedBackup(name string, after time.Duration, status metav1.ConditionStatus, reason, url string) hyperv1.HCPEtcdBackup {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(after))
	return hyperv1.HCPEtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: hyperv1.HCPEtcdBackupStatus{SnapshotURL: url, Conditions: []metav1.Condition{
			{Type: hyperv1.BackupCompleted, Status: status, Reason: reason, Message: "words", LastTransitionTime: at},
		}},
	}
}

func TestLastBackup(t *testing.T) {
	stored := endedBackup("a", time.Hour, metav1.ConditionTrue, hyperv1.BackupSucceededReason, "s3://b/a")
	failed := endedBackup("b", 2*time.Hour, metav1.ConditionFalse, hyperv1.BackupFailedReason, "")
	runs := endedBackup("c", 3*time.Hour, metav1.ConditionFalse, hyperv1.BackupInProgressReason, "s3://b/c")
	begins := hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "d"}}
	for name, c := range map[string]struct {
		backups      []hyperv1.HCPEtcdBackup
		last, stored string
	}{
		"none":                  {nil, "", ""},
		"one that runs":         {[]hyperv1.HCPEtcdBackup{runs, begins}, "", ""},
		"a failure after one":   {[]hyperv1.HCPEtcdBackup{failed, stored, runs}, "b", "a"},
		"the order is of times": {[]hyperv1.HCPEtcdBackup{stored, failed}, "b", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			for filter, want := range map[string]string{"ended": c.last, "stored": c.stored} {
				accepts := map[string]func(*hyperv1.HCPEtcdBackup) bool{"ended": hyperv1.IsBackupFinished, "stored": Stored}[filter]
				got := ""
				if b := LastBackup(c.backups, accepts); b != nil {
					got = b.Name
				}
				if got != want {
					t.Errorf("%s: got %q, want %q", filter, got, want)
				}
			}
		})
	}
}
