package v1beta1

import corev1 "k8s.io/api/core/v1"

// SecretEncryptionType is a way to encrypt Secrets at rest.
//
// +kubebuilder:validation:Enum=kms;aescbc
type SecretEncryptionType string

const (
	// KMS leaves the keys with the cloud's key service.
	KMS SecretEncryptionType = "kms"
	// AESCBC uses keys from a Secret.
	AESCBC SecretEncryptionType = "aescbc"
)

// KMSProvider is a key service.
//
// +kubebuilder:validation:Enum=AWS
type KMSProvider string

// AWSKMS is the key service of AWS.
const AWSKMS KMSProvider = "AWS"

// SecretEncryptionSpec says how the hosted cluster's Secrets are encrypted in etcd.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'kms' ? has(self.kms) : !has(self.kms)",message="kms is required when type is kms, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'aescbc' ? has(self.aescbc) : !has(self.aescbc)",message="aescbc is required when type is aescbc, and forbidden otherwise"
type SecretEncryptionSpec struct {
	// type is the way Secrets are encrypted.
	//
	// +required
	Type SecretEncryptionType `json:"type,omitempty"`

	// kms holds the settings of type kms.
	//
	// +optional
	KMS *KMSSpec `json:"kms,omitempty"`

	// aescbc holds the settings of type aescbc.
	//
	// +optional
	AESCBC *AESCBCSpec `json:"aescbc,omitempty"`
}

// AESCBCSpec names the keys of type aescbc.
type AESCBCSpec struct {
	// activeKey names a Secret whose key "key" holds 32 bytes, with which Secrets are encrypted from now on.
	//
	// +required
	ActiveKey corev1.LocalObjectReference `json:"activeKey,omitzero"`

	// backupKey names a Secret with a key that was active before and still opens old Secrets.
	//
	// Deprecated: the key that was active before is remembered in status.secretEncryption.
	//
	// +optional
	BackupKey *corev1.LocalObjectReference `json:"backupKey,omitempty"`
}

// KMSSpec names the key service and its keys.
//
// +kubebuilder:validation:XValidation:rule="self.provider == 'AWS' ? has(self.aws) : !has(self.aws)",message="aws is required when provider is AWS, and forbidden otherwise"
type KMSSpec struct {
	// provider is the key service.
	//
	// +required
	Provider KMSProvider `json:"provider,omitempty"`

	// aws holds the settings of provider AWS.
	//
	// +optional
	AWS *AWSKMSSpec `json:"aws,omitempty"`
}

// AWSKMSSpec names keys of AWS KMS.
type AWSKMSSpec struct {
	// region is the region of the keys.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region,omitempty"`

	// activeKey is the key with which Secrets are encrypted from now on.
	//
	// +required
	ActiveKey AWSKMSKeyEntry `json:"activeKey,omitzero"`

	// backupKey is a key that was active before and still opens old Secrets.
	//
	// Deprecated: the key that was active before is remembered in status.secretEncryption.
	//
	// +optional
	BackupKey *AWSKMSKeyEntry `json:"backupKey,omitempty"`

	// auth is the role that may use the keys.
	//
	// +required
	Auth AWSKMSAuthSpec `json:"auth,omitzero"`
}

// AWSKMSKeyEntry is one key of AWS KMS.
type AWSKMSKeyEntry struct {
	// arn is the ARN of the key.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.startsWith('arn:')",message="must be the ARN of a key"
	ARN string `json:"arn,omitempty"`
}

// AWSKMSAuthSpec is the role that may use the keys.
type AWSKMSAuthSpec struct {
	// awsKms is the ARN of a role that kube-apiserver's KMS plugin takes on. It needs kms:Encrypt, kms:Decrypt,
	// kms:ReEncrypt*, kms:GenerateDataKey* and kms:DescribeKey.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.startsWith('arn:')",message="must be the ARN of a role"
	AWSKMSRoleARN string `json:"awsKms,omitempty"`
}

// SecretEncryptionStatus says with which key Secrets are encrypted, and with which they will be.
type SecretEncryptionStatus struct {
	// activeKey is the key with which all Secrets are encrypted.
	//
	// +optional
	ActiveKey *SecretEncryptionKeyStatus `json:"activeKey,omitempty"`

	// targetKey is the key to which Secrets are being re-encrypted. Absent when nothing is under way.
	//
	// +optional
	TargetKey *SecretEncryptionKeyStatus `json:"targetKey,omitempty"`

	// history lists the moves from key to key, newest first.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []SecretEncryptionMigration `json:"history,omitempty"`
}
