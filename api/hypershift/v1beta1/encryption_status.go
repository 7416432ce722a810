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

	// completionTime is when the move ended.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}
