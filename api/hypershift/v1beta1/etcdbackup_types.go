package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of an HCPEtcdBackup.
const (
	// BackupCompleted is True when the backup is verified and stored.
	BackupCompleted = "BackupCompleted"
	// BackupVerified is True when an etcd that was started from the backup has the same data as the etcd of the cluster.
	BackupVerified = "BackupVerified"
)

// Reasons of the conditions of an HCPEtcdBackup, and of EtcdBackupSucceeded.
const (
	// BackupSucceededReason is the reason of a backup that is stored.
	BackupSucceededReason = "BackupSucceeded"
	// BackupInProgressReason is the reason of a backup that waits, runs or is tried again.
	BackupInProgressReason = "BackupInProgress"
	// BackupFailedReason is the reason of a backup that is not tried again.
	BackupFailedReason = "BackupFailed"
	// BackupRejectedReason is the reason of a backup that cannot be made of this cluster.
	BackupRejectedReason = "BackupRejected"
	// EtcdUnhealthyReason is the reason of a backup that waits for etcd.
	EtcdUnhealthyReason = "EtcdUnhealthy"
	// BackupCredentialsReason is the reason of a backup with credentials that are missing or cannot be used.
	BackupCredentialsReason = "InvalidBackupCredentials"
)

// KMSKeyARN is the ARN of a key of AWS KMS.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="self.matches('^arn:(aws|aws-cn|aws-us-gov):kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]+$')",message="must be the ARN of a KMS key, such as arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
type KMSKeyARN string

// HCPEtcdBackupConfigPlatform is the cloud whose key encrypts backups.
//
// +kubebuilder:validation:Enum=AWS
type HCPEtcdBackupConfigPlatform string

// AWSBackupConfigPlatform encrypts backups with a key of AWS KMS.
const AWSBackupConfigPlatform HCPEtcdBackupConfigPlatform = "AWS"

// HCPEtcdBackupConfig configures the encryption of backups.
//
// +kubebuilder:validation:XValidation:rule="self.platform == 'AWS' ? has(self.aws) : !has(self.aws)",message="aws is required when platform is AWS, and forbidden otherwise"
type HCPEtcdBackupConfig struct {
	// platform is the cloud whose key encrypts backups.
	//
	// +required
	Platform HCPEtcdBackupConfigPlatform `json:"platform,omitempty"`

	// aws holds the settings of platform AWS.
	//
	// +optional
	AWS *HCPEtcdBackupConfigAWS `json:"aws,omitempty"`
}

// HCPEtcdBackupConfigAWS configures the encryption of backups in S3.
type HCPEtcdBackupConfigAWS struct {
	// kmsKeyARN is the key with which S3 encrypts the backups.
	//
	// +required
	KMSKeyARN KMSKeyARN `json:"kmsKeyARN,omitempty"`
}

// HCPEtcdBackupStorageType is a place for backups.
//
// +kubebuilder:validation:Enum=S3
type HCPEtcdBackupStorageType string

// S3BackupStorage stores backups in a bucket of AWS S3.
const S3BackupStorage HCPEtcdBackupStorageType = "S3"

// HCPEtcdBackupSpec defines one backup. It cannot be changed: each HCPEtcdBackup is one backup.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot be changed: create another HCPEtcdBackup for another backup"
type HCPEtcdBackupSpec struct {
	// storage defines where the backup is stored.
	//
	// +required
	Storage HCPEtcdBackupStorage `json:"storage,omitzero"`
}

// HCPEtcdBackupStorage defines where a backup is stored.
//
// +kubebuilder:validation:XValidation:rule="self.storageType == 'S3' ? has(self.s3) : !has(self.s3)",message="s3 is required when storageType is S3, and forbidden otherwise"
type HCPEtcdBackupStorage struct {
	// storageType is the type of the storage.
	//
	// +required
	StorageType HCPEtcdBackupStorageType `json:"storageType,omitempty"`

	// s3 holds the settings of storageType S3.
	//
	// +optional
	S3 *HCPEtcdBackupS3 `json:"s3,omitempty"`
}

// HCPEtcdBackupS3 is a place in a bucket of AWS S3.
//
// +kubebuilder:validation:XValidation:rule="has(self.credentials) != has(self.roleARN)",message="one of credentials and roleARN is required"
type HCPEtcdBackupS3 struct {
	// bucket is the name of the bucket.
	//
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$') && !self.contains('..')",message="must be the name of a bucket: lower-case letters, digits, dashes and single dots, with a letter or digit at both ends"
	Bucket string `json:"bucket,omitempty"`

	// region is the region of the bucket.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]+(-[a-z0-9]+)*$')",message="must be a region, such as us-east-1"
	Region string `json:"region,omitempty"`

	// keyPrefix is the beginning of the key of the backup in the bucket.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches(\"^[a-zA-Z0-9/!_.*'()-]+$\")",message="must be made of letters, digits, slashes and the characters - _ . ! * ' ( )"
	KeyPrefix string `json:"keyPrefix,omitempty"`

	// credentials refers to a Secret in the namespace of the hypershift-operator with an AWS credentials file under
	// the key credentials: an access key, a role that it assumes, or both. A role without an access key is assumed with
	// the identity of the hypershift-operator.
	//
	// +optional
	Credentials *SecretReference `json:"credentials,omitempty"`

	// roleARN is the role that stores the backup. It trusts the subject hypershift:etcd-backup of the cluster's token issuer,
	// and needs no Secret.
	//
	// +optional
	RoleARN RoleARN `json:"roleARN,omitempty"`

	// bucketOwner is the account that must own the bucket. Default: the account of the credentials.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	BucketOwner string `json:"bucketOwner,omitempty"`

	// kmsKeyARN is the key with which S3 encrypts the backup.
	//
	// +optional
	KMSKeyARN KMSKeyARN `json:"kmsKeyARN,omitempty"`
}

// SecretReference refers to a Secret by its name.
type SecretReference struct {
	// name is the name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Secret"
	Name string `json:"name,omitempty"`
}

// HCPEtcdBackupStatus is the observed state of a backup.
type HCPEtcdBackupStatus struct {
	// conditions reports the state of the backup.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=10
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// startTime is when the first attempt began.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// attemptTime is when the present attempt began.
	//
	// +optional
	AttemptTime *metav1.Time `json:"attemptTime,omitempty"`

	// completionTime is when the backup was stored.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// failedAttempts is the number of attempts that failed. The time between attempts grows with it.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedAttempts int32 `json:"failedAttempts,omitempty"`

	// lastFailureTime is when the last of them failed.
	//
	// +optional
	LastFailureTime *metav1.Time `json:"lastFailureTime,omitempty"`

	// lastFailureMessage is why it failed.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	LastFailureMessage string `json:"lastFailureMessage,omitempty"`

	// objectKey is the key of the backup in the bucket. It is set before the first part is uploaded.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ObjectKey string `json:"objectKey,omitempty"`

	// snapshot describes the completed backup.
	//
	// +optional
	Snapshot *EtcdSnapshot `json:"snapshot,omitempty"`

	// snapshotURL is the URL of the completed backup.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https|s3)://')",message="must be an https or s3 URL"
	SnapshotURL string `json:"snapshotURL,omitempty"`

	// encryptionMetadata describes how the stored backup is encrypted.
	//
	// +optional
	EncryptionMetadata *HCPEtcdBackupEncryptionMetadata `json:"encryptionMetadata,omitempty"`
}

// EtcdSnapshot describes a snapshot of etcd that was verified.
type EtcdSnapshot struct {
	// sizeBytes is the size of the snapshot.
	//
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// sha256 is the checksum of the snapshot.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SHA256 string `json:"sha256,omitempty"`

	// revision is the revision of etcd at which the data was compared.
	//
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// keys is the number of keys at that revision.
	//
	// +optional
	Keys int64 `json:"keys,omitempty"`

	// hash is etcd's hash of the keys up to that revision (HashKV).
	//
	// +optional
	Hash int64 `json:"hash,omitempty"`

	// version is the version of etcd.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`
}

// HCPEtcdBackupEncryptionMetadata describes how a stored backup is encrypted.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type HCPEtcdBackupEncryptionMetadata struct {
	// aws is set if the backup is encrypted with a key of AWS KMS.
	//
	// +optional
	AWS *HCPEtcdBackupConfigAWS `json:"aws,omitempty"`
}

// HCPEtcdBackup is one backup of the etcd of the control plane in its namespace. The snapshot is verified in a scratch etcd and stored in
// S3. docs/backup.md describes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=hcpetcdbackups,scope=Namespaced,shortName=hcpetcdbk,categories=hypershift
// +kubebuilder:printcolumn:name="Completed",type=string,JSONPath=`.status.conditions[?(@.type=="BackupCompleted")].status`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.snapshotURL`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="BackupCompleted")].reason`,priority=1
// +kubebuilder:printcolumn:name="Bytes",type=integer,JSONPath=`.status.snapshot.sizeBytes`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +genclient
type HCPEtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec HCPEtcdBackupSpec `json:"spec,omitzero"`
	// +optional
	Status HCPEtcdBackupStatus `json:"status,omitzero"`

	unreadable `json:"-"`
}

// HCPEtcdBackupList is a list of HCPEtcdBackups.
// +kubebuilder:object:root=true
type HCPEtcdBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HCPEtcdBackup `json:"items"`
}

// UnmarshalJSON decodes all fields that can be decoded; see Unreadable.
func (in *HCPEtcdBackup) UnmarshalJSON(text []byte) (err error) {
	type plain HCPEtcdBackup
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}

// GetConditions returns the conditions.
func (in *HCPEtcdBackup) GetConditions() []metav1.Condition { return in.Status.Conditions }

// SetConditions replaces the conditions.
func (in *HCPEtcdBackup) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// HCPEtcdBackupFinalizer is on an HCPEtcdBackup from the beginning of its upload to the end.
const HCPEtcdBackupFinalizer = "hypershift.openshift.io/etcd-backup-upload"

// IsBackupFinished is true if the backup is stored, or is not tried again.
func IsBackupFinished(b *HCPEtcdBackup) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, BackupCompleted)
	return c != nil && (c.Status == metav1.ConditionTrue || c.Reason == BackupFailedReason || c.Reason == BackupRejectedReason)
}
