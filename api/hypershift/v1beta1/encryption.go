package v1beta1

import corev1 "k8s.io/api/core/v1"

// SecretEncryptionType is a method of encrypting Secrets at rest.
//
// +kubebuilder:validation:Enum=kms;aescbc
type SecretEncryptionType string

const (
	// KMS keeps the keys in the key management service of the cloud.
	KMS SecretEncryptionType = "kms"
	// AESCBC uses keys from a Secret.
	AESCBC SecretEncryptionType = "aescbc"
)

// KMSProvider is a key management service.
//
// +kubebuilder:validation:Enum=AWS
type KMSProvider string

// AWSKMS is the key management service of AWS.
const AWSKMS KMSProvider = "AWS"

// SecretEncryptionSpec configures how the hosted cluster's Secrets are encrypted in etcd.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'kms' ? has(self.kms) : !has(self.kms)",message="kms is required when type is kms, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'aescbc' ? has(self.aescbc) : !has(self.aescbc)",message="aescbc is required when type is aescbc, and forbidden otherwise"
type SecretEncryptionSpec struct {
	// type is the method of encryption.
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

// AESCBCSpec refers to the keys of type aescbc.
type AESCBCSpec struct {
	// activeKey refers to a Secret with 32 bytes under the key "key". New and changed Secrets are encrypted with
	// them.
	//
	// +required
	ActiveKey corev1.LocalObjectReference `json:"activeKey,omitzero"`

	// backupKey refers to a Secret with a previous key that still decrypts old Secrets.
	//
	// Deprecated: status.secretEncryption records the previous key.
	//
	// +optional
	BackupKey *corev1.LocalObjectReference `json:"backupKey,omitempty"`
}

// KMSSpec defines the key management service and its keys.
//
// +kubebuilder:validation:XValidation:rule="self.provider == 'AWS' ? has(self.aws) : !has(self.aws)",message="aws is required when provider is AWS, and forbidden otherwise"
type KMSSpec struct {
	// provider is the key management service.
	//
	// +required
	Provider KMSProvider `json:"provider,omitempty"`

	// aws holds the settings of provider AWS.
	//
	// +optional
	AWS *AWSKMSSpec `json:"aws,omitempty"`
}

// AWSKMSSpec defines keys of AWS KMS.
type AWSKMSSpec struct {
	// region is the region of the keys.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region,omitempty"`

	// activeKey is the key with which new and changed Secrets are encrypted.
	//
	// +required
	ActiveKey AWSKMSKeyEntry `json:"activeKey,omitzero"`

	// backupKey is a previous key that still decrypts old Secrets.
	//
	// Deprecated: status.secretEncryption records the previous key.
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
	// awsKms is the ARN of a role that kube-apiserver's KMS plugin assumes. It needs kms:Encrypt, kms:Decrypt,
	// kms:ReEncrypt*, kms:GenerateDataKey* and kms:DescribeKey.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.startsWith('arn:')",message="must be the ARN of a role"
	AWSKMSRoleARN string `json:"awsKms,omitempty"`
}
