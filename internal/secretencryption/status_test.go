package secretencryption

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestStatusHasTheFormOfTheAPI(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:kms:eu-west-1:123456789012:key/one"
	aes, kms := AESCBC("my-key", []byte("k")), KMS(arn)
	from, to := hyperv1.EncryptionKeyReference{Provider: "AESCBC", Fingerprint: aes.Fingerprint}, hyperv1.EncryptionKeyReference{Provider: "AWS", Fingerprint: kms.Fingerprint}
	start, end := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	move := func(state hyperv1.SecretEncryptionMigrationState, stage hyperv1.SecretEncryptionStage) hyperv1.SecretEncryptionMigration {
		return hyperv1.SecretEncryptionMigration{State: state, Stage: stage, From: &aes, To: kms, StartedTime: start, CompletionTime: &end}
	}
	for stage, want := range map[hyperv1.SecretEncryptionMigration]hyperv1.EncryptionMigrationState{
		{State: hyperv1.SecretEncryptionMigrationInProgress, Stage: hyperv1.SecretEncryptionReadKey}:   "ReadOnlyDeploy",
		{State: hyperv1.SecretEncryptionMigrationInProgress, Stage: hyperv1.SecretEncryptionWriteKey}:  "WritePromote",
		{State: hyperv1.SecretEncryptionMigrationInProgress, Stage: hyperv1.SecretEncryptionReencrypt}: "Migrating",
		{State: hyperv1.SecretEncryptionMigrationCompleted, Stage: hyperv1.SecretEncryptionRetain}:     "Completed",
		{State: hyperv1.SecretEncryptionMigrationCompleted, Stage: hyperv1.SecretEncryptionDone}:       "Completed",
		{State: hyperv1.SecretEncryptionMigrationInterrupted, Stage: hyperv1.SecretEncryptionReadKey}:  "Interrupted",
	} {
		got := Status(&hyperv1.SecretEncryptionRecord{ActiveKey: &aes, TargetKey: &kms, History: []hyperv1.SecretEncryptionMigration{move(stage.State, stage.Stage)}})
		wanted := &hyperv1.SecretEncryptionStatus{
			ActiveKey: &hyperv1.SecretEncryptionKeyStatus{Provider: "AESCBC", AESCBC: &hyperv1.AESCBCKeyStatus{DataHash: aes.Fingerprint}},
			TargetKey: &hyperv1.SecretEncryptionKeyStatus{Provider: "AWS", AWS: &hyperv1.AWSKMSKeyStatus{ARN: arn, Region: "eu-west-1"}},
			History:   []hyperv1.EncryptionMigrationHistory{{From: &from, To: to, State: want, StartedTime: start, CompletionTime: &end}},
		}
		wanted.ActiveKey.AESCBC.SecretRef.Name = "my-key"
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s in stage %s: %s", stage.State, stage.Stage, diff)
		}
	}
}

func TestStatusHasTheLatestChanges(t *testing.T) {
	t.Parallel()
	if got := Status(nil); got != nil {
		t.Errorf("without a record there is %+v", got)
	}
	record := &hyperv1.SecretEncryptionRecord{}
	for _, name := range []string{"g", "f", "e", "d", "c", "b", "a"} { // newest first
		record.History = append(record.History, hyperv1.SecretEncryptionMigration{State: hyperv1.SecretEncryptionMigrationCompleted, To: AESCBC(name, []byte(name))})
	}
	got := Status(record).History
	if len(got) != 5 || got[0].To.Fingerprint != Fingerprint([]byte("g")) || got[4].To.Fingerprint != Fingerprint([]byte("c")) || got[0].From != nil {
		t.Errorf("the changes are %+v", got)
	}
}
