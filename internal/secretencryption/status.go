package secretencryption

import (
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// maxReported is the maximum number of changes that users see.
const maxReported = 5

// states are the states of a change in progress, by its stage.
var states = map[hyperv1.SecretEncryptionStage]hyperv1.EncryptionMigrationState{
	hyperv1.SecretEncryptionReadKey:   hyperv1.EncryptionMigrationStateReadOnlyDeploy,
	hyperv1.SecretEncryptionWriteKey:  hyperv1.EncryptionMigrationStateWritePromote,
	hyperv1.SecretEncryptionReencrypt: hyperv1.EncryptionMigrationStateMigrating,
}

// Status returns the record's part for users.
func Status(record *hyperv1.SecretEncryptionRecord) *hyperv1.SecretEncryptionStatus {
	if record == nil {
		return nil
	}
	st := &hyperv1.SecretEncryptionStatus{ActiveKey: keyStatus(record.ActiveKey), TargetKey: keyStatus(record.TargetKey)}
	for _, move := range record.History[:min(len(record.History), maxReported)] {
		change := hyperv1.EncryptionMigrationHistory{To: reference(move.To), State: stateOf(move), StartedTime: move.StartedTime, CompletionTime: move.CompletionTime}
		if move.From != nil {
			from := reference(*move.From)
			change.From = &from
		}
		st.History = append(st.History, change)
	}
	return st
}

func stateOf(move hyperv1.SecretEncryptionMigration) hyperv1.EncryptionMigrationState {
	switch move.State {
	case hyperv1.SecretEncryptionMigrationCompleted:
		return hyperv1.EncryptionMigrationStateCompleted
	case hyperv1.SecretEncryptionMigrationInterrupted:
		return hyperv1.EncryptionMigrationStateInterrupted
	}
	return states[move.Stage]
}

func provider(key Key) hyperv1.SecretEncryptionProvider {
	if key.Provider == hyperv1.KMS {
		return hyperv1.SecretEncryptionProviderAWS
	}
	return hyperv1.SecretEncryptionProviderAESCBC
}

func reference(key Key) hyperv1.EncryptionKeyReference {
	return hyperv1.EncryptionKeyReference{Provider: provider(key), Fingerprint: key.Fingerprint}
}

func keyStatus(key *Key) *hyperv1.SecretEncryptionKeyStatus {
	if key == nil {
		return nil
	}
	st := &hyperv1.SecretEncryptionKeyStatus{Provider: provider(*key)}
	if key.Provider == hyperv1.KMS {
		st.AWS = &hyperv1.AWSKMSKeyStatus{ARN: key.Name, Region: regionOf(key.Name)}
		return st
	}
	st.AESCBC = &hyperv1.AESCBCKeyStatus{DataHash: key.Fingerprint}
	st.AESCBC.SecretRef.Name = key.Name
	return st
}

// regionOf returns the region in the ARN of a key: arn:aws:kms:<region>:<account>:key/<id>.
func regionOf(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[3]
	}
	return ""
}
