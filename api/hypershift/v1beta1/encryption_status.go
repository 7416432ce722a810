package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SecretEncryptionKeyStatus names one key without revealing it.
type SecretEncryptionKeyStatus struct {
	// provider is the way of encryption that the key belongs to.
	//
	// +required
	Provider SecretEncryptionType `json:"provider,omitempty"`

	// name is the Secret (aescbc) or the ARN (kms) of the key.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Name string `json:"name,omitempty"`

	// fingerprint tells two keys of the same name apart.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Fingerprint string `json:"fingerprint,omitempty"`
}

// SecretEncryptionMigrationState says how far a move to another key has come.
//
// +kubebuilder:validation:Enum=InProgress;Completed;Interrupted
type SecretEncryptionMigrationState string

const (
	// SecretEncryptionMigrationInProgress means that Secrets are being rewritten.
	SecretEncryptionMigrationInProgress SecretEncryptionMigrationState = "InProgress"
	// SecretEncryptionMigrationCompleted means that every Secret is encrypted with the new key.
	SecretEncryptionMigrationCompleted SecretEncryptionMigrationState = "Completed"
	// SecretEncryptionMigrationInterrupted means that another key was wanted before the move was over.
	SecretEncryptionMigrationInterrupted SecretEncryptionMigrationState = "Interrupted"
)

// SecretEncryptionStage is what a move to another key has reached. The stages follow each other in the order in which they
// are listed.
//
// +kubebuilder:validation:Enum=ReadKey;WriteKey;Reencrypt;Retain;Drop;Done
type SecretEncryptionStage string

const (
	// SecretEncryptionReadKey means that every API server is being given the new key to read with. Nothing is encrypted with it yet.
	SecretEncryptionReadKey SecretEncryptionStage = "ReadKey"
	// SecretEncryptionWriteKey means that every API server is being told to encrypt with the new key.
	SecretEncryptionWriteKey SecretEncryptionStage = "WriteKey"
	// SecretEncryptionReencrypt means that what is in etcd is being rewritten with the new key.
	SecretEncryptionReencrypt SecretEncryptionStage = "Reencrypt"
	// SecretEncryptionRetain means that everything is encrypted with the new key, and that the old one stays until etcd has
	// no older revisions any more, of which a client may still be reading a list.
	SecretEncryptionRetain SecretEncryptionStage = "Retain"
	// SecretEncryptionDrop means that the old key is being taken from every API server.
	SecretEncryptionDrop SecretEncryptionStage = "Drop"
	// SecretEncryptionDone means that no API server has another key any more.
	SecretEncryptionDone SecretEncryptionStage = "Done"
)

// SecretEncryptionMigration is one move from key to key.
type SecretEncryptionMigration struct {
	// state says how far the move has come.
	//
	// +required
	State SecretEncryptionMigrationState `json:"state,omitempty"`

	// from is the key that was left. Absent for the first key.
	//
	// +optional
	From *SecretEncryptionKeyStatus `json:"from,omitempty"`

	// to is the key that was moved to.
	//
	// +required
	To SecretEncryptionKeyStatus `json:"to,omitzero"`

	// startedTime is when the move began.
	//
	// +required
	StartedTime metav1.Time `json:"startedTime,omitzero"`

	// stage is what the move has reached. An interrupted one reached it and nothing further.
	//
	// +optional
	Stage SecretEncryptionStage `json:"stage,omitempty"`

	// completionTime is when everything was encrypted with the new key. An interrupted move has one as soon as nothing is
	// encrypted with its key any more.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}
