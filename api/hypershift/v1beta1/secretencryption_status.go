package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretEncryptionProvider is a way to encrypt Secrets.
//
// +kubebuilder:validation:Enum=AESCBC;AWS
type SecretEncryptionProvider string

const (
	// SecretEncryptionProviderAESCBC encrypts with a key in a Secret.
	SecretEncryptionProviderAESCBC SecretEncryptionProvider = "AESCBC"
	// SecretEncryptionProviderAWS encrypts with a key of AWS KMS.
	SecretEncryptionProviderAWS SecretEncryptionProvider = "AWS"
)

// SecretEncryptionStatus reports the key with which Secrets are encrypted, and changes of it.
type SecretEncryptionStatus struct {
	// activeKey is the key with which all Secrets are encrypted.
	//
	// +optional
	ActiveKey *SecretEncryptionKeyStatus `json:"activeKey,omitempty"`

	// targetKey is the key with which Secrets are being re-encrypted. Absent if the key does not change.
	//
	// +optional
	TargetKey *SecretEncryptionKeyStatus `json:"targetKey,omitempty"`

	// history lists the latest changes of the key, newest first.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	History []EncryptionMigrationHistory `json:"history,omitempty"`
}

// SecretEncryptionKeyStatus identifies one key without revealing it.
//
// +kubebuilder:validation:XValidation:rule="has(self.aescbc) == (self.provider == 'AESCBC')",message="aescbc is required when provider is AESCBC, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="has(self.aws) == (self.provider == 'AWS')",message="aws is required when provider is AWS, and forbidden otherwise"
type SecretEncryptionKeyStatus struct {
	// provider is the way to encrypt that the key belongs to.
	//
	// +required
	Provider SecretEncryptionProvider `json:"provider,omitempty"`

	// aescbc identifies a key in a Secret.
	//
	// +optional
	AESCBC *AESCBCKeyStatus `json:"aescbc,omitempty"`

	// aws identifies a key of AWS KMS.
	//
	// +optional
	AWS *AWSKMSKeyStatus `json:"aws,omitempty"`
}

// AESCBCKeyStatus identifies a key in a Secret.
type AESCBCKeyStatus struct {
	// secretRef refers to the Secret with the key.
	//
	// +required
	SecretRef corev1.LocalObjectReference `json:"secretRef,omitzero"`

	// dataHash is the beginning of the SHA-256 of the key, in hexadecimal digits. It distinguishes two keys that were in
	// the same Secret.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	DataHash string `json:"dataHash,omitempty"`
}

// AWSKMSKeyStatus identifies a key of AWS KMS.
type AWSKMSKeyStatus struct {
	// arn is the ARN of the key.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ARN string `json:"arn,omitempty"`

	// region is the region of the key.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region,omitempty"`
}

// EncryptionKeyReference identifies a key by its fingerprint.
type EncryptionKeyReference struct {
	// provider is the way to encrypt that the key belongs to.
	//
	// +required
	Provider SecretEncryptionProvider `json:"provider,omitempty"`

	// fingerprint is the beginning of the SHA-256 of the key (AESCBC) or of its ARN (AWS), in hexadecimal digits.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Fingerprint string `json:"fingerprint,omitempty"`
}

// EncryptionMigrationState is the state of a change of the key.
//
// +kubebuilder:validation:Enum=ReadOnlyDeploy;WritePromote;Migrating;Completed;Interrupted
type EncryptionMigrationState string

const (
	// EncryptionMigrationStateReadOnlyDeploy means that the API servers are rolled out with the new key for reading.
	EncryptionMigrationStateReadOnlyDeploy EncryptionMigrationState = "ReadOnlyDeploy"
	// EncryptionMigrationStateWritePromote means that the API servers are rolled out to encrypt with the new key.
	EncryptionMigrationStateWritePromote EncryptionMigrationState = "WritePromote"
	// EncryptionMigrationStateMigrating means that the Secrets in etcd are being rewritten with the new key.
	EncryptionMigrationStateMigrating EncryptionMigrationState = "Migrating"
	// EncryptionMigrationStateCompleted means that all Secrets are encrypted with the new key.
	EncryptionMigrationStateCompleted EncryptionMigrationState = "Completed"
	// EncryptionMigrationStateInterrupted means that another key was set before the change was complete.
	EncryptionMigrationStateInterrupted EncryptionMigrationState = "Interrupted"
)

// EncryptionMigrationHistory is one change of the key.
type EncryptionMigrationHistory struct {
	// from is the old key. Absent for the first key.
	//
	// +optional
	From *EncryptionKeyReference `json:"from,omitempty"`

	// to is the new key.
	//
	// +required
	To EncryptionKeyReference `json:"to,omitzero"`

	// state is the state of the change.
	//
	// +required
	State EncryptionMigrationState `json:"state,omitempty"`

	// startedTime is the time at which the change started.
	//
	// +required
	StartedTime metav1.Time `json:"startedTime,omitzero"`

	// completionTime is the time at which everything was encrypted with the new key. For an interrupted change it is the
	// time at which nothing was encrypted with its key any more.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}
