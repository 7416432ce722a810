package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SecretEncryptionRecord records the keys with which Secrets may be encrypted, and the stages of changes between them. The
// configuration of the API servers is derived from it. SecretEncryptionStatus reports it to users.
type SecretEncryptionRecord struct {
	// activeKey is the key with which all Secrets are encrypted.
	//
	// +optional
	ActiveKey *SecretEncryptionKeyRecord `json:"activeKey,omitempty"`

	// targetKey is the key with which Secrets are being re-encrypted. Absent if there is no migration.
	//
	// +optional
	TargetKey *SecretEncryptionKeyRecord `json:"targetKey,omitempty"`

	// history lists the migrations between keys, newest first.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []SecretEncryptionMigration `json:"history,omitempty"`
}

// SecretEncryptionKeyRecord identifies one key without revealing it.
type SecretEncryptionKeyRecord struct {
	// provider is the method of encryption that the key belongs to.
	//
	// +required
	Provider SecretEncryptionType `json:"provider,omitempty"`

	// name is the Secret (aescbc) or the ARN (kms) of the key.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Name string `json:"name,omitempty"`

	// fingerprint distinguishes two keys of the same name.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Fingerprint string `json:"fingerprint,omitempty"`
}

// SecretEncryptionMigrationState is the state of a migration to another key.
//
// +kubebuilder:validation:Enum=InProgress;Completed;Interrupted
type SecretEncryptionMigrationState string

const (
	// SecretEncryptionMigrationInProgress means that Secrets are being rewritten.
	SecretEncryptionMigrationInProgress SecretEncryptionMigrationState = "InProgress"
	// SecretEncryptionMigrationCompleted means that every Secret is encrypted with the new key.
	SecretEncryptionMigrationCompleted SecretEncryptionMigrationState = "Completed"
	// SecretEncryptionMigrationInterrupted means that another key was set before the migration was complete.
	SecretEncryptionMigrationInterrupted SecretEncryptionMigrationState = "Interrupted"
)

// SecretEncryptionStage is a stage of a migration to another key. The stages follow each other in the order in which
// they are listed.
//
// +kubebuilder:validation:Enum=ReadKey;WriteKey;Reencrypt;Retain;Drop;Done
type SecretEncryptionStage string

const (
	// SecretEncryptionReadKey means that the API servers are rolled out with the new key for reading. Nothing is
	// encrypted with it yet.
	SecretEncryptionReadKey SecretEncryptionStage = "ReadKey"
	// SecretEncryptionWriteKey means that the API servers are rolled out to encrypt with the new key.
	SecretEncryptionWriteKey SecretEncryptionStage = "WriteKey"
	// SecretEncryptionReencrypt means that the Secrets in etcd are being rewritten with the new key.
	SecretEncryptionReencrypt SecretEncryptionStage = "Reencrypt"
	// SecretEncryptionRetain means that everything is encrypted with the new key. The old key stays until etcd has
	// compacted older revisions, because a client may still page through a list of one.
	SecretEncryptionRetain SecretEncryptionStage = "Retain"
	// SecretEncryptionDrop means that the API servers are rolled out without the old key.
	SecretEncryptionDrop SecretEncryptionStage = "Drop"
	// SecretEncryptionDone means that no API server has another key.
	SecretEncryptionDone SecretEncryptionStage = "Done"
)

// SecretEncryptionMigration is one migration between keys.
type SecretEncryptionMigration struct {
	// state is the state of the migration.
	//
	// +required
	State SecretEncryptionMigrationState `json:"state,omitempty"`

	// from is the old key. Absent for the first key.
	//
	// +optional
	From *SecretEncryptionKeyRecord `json:"from,omitempty"`

	// to is the new key.
	//
	// +required
	To SecretEncryptionKeyRecord `json:"to,omitzero"`

	// startedTime is the time at which the migration started.
	//
	// +required
	StartedTime metav1.Time `json:"startedTime,omitzero"`

	// stage is the current stage of the migration, or the last one that an interrupted migration reached.
	//
	// +optional
	Stage SecretEncryptionStage `json:"stage,omitempty"`

	// completionTime is the time at which everything was encrypted with the new key. For an interrupted migration it
	// is the time at which nothing was encrypted with its key any more.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}
