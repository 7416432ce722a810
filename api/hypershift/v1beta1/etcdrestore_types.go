package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdRestored is the condition of an EtcdRestore. It is True when the cluster runs with the data of the backup.
const EtcdRestored = "EtcdRestored"

// Reasons of EtcdRestored.
const (
	// RestoreSucceededReason is the reason of a restore that is complete.
	RestoreSucceededReason = "RestoreSucceeded"
	// RestoreRejectedReason is the reason of a restore that is not tried: the spec cannot be used. Create another EtcdRestore.
	RestoreRejectedReason = "RestoreRejected"
	// RestorePendingReason is the reason of a restore that waits and has not changed anything.
	RestorePendingReason = "RestorePending"
	// BackupUnreadableReason is the reason of a restore whose backup does not exist, or cannot be read. The cluster is not changed.
	BackupUnreadableReason = "BackupUnreadable"
	// StoppingControlPlaneReason is the reason of a restore that waits until the control plane has no pods.
	StoppingControlPlaneReason = "StoppingControlPlane"
	// RestoreInProgressReason is the reason of a restore whose members of etcd begin with the backup.
	RestoreInProgressReason = "RestoreInProgress"
)

// EtcdRestoreFinalizer is on an EtcdRestore from its begin until its end.
const EtcdRestoreFinalizer = "hypershift.openshift.io/etcd-restore"

// EtcdRestoreSpec defines which cluster goes back to which backup. It cannot be changed: each EtcdRestore is one restore.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot be changed: create another EtcdRestore for another restore"
// +kubebuilder:validation:XValidation:rule="[has(self.backup), has(self.object), has(self.member)].filter(x, x).size() == 1",message="one of backup, object and member is required"
type EtcdRestoreSpec struct {
	// hostedClusterName is the name of a HostedCluster in the same namespace. A cluster that is up goes back to the backup. One that is
	// created later, or at the same time, begins with it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	HostedClusterName string `json:"hostedClusterName,omitempty"`

	// backup refers to an HCPEtcdBackup.
	//
	// +optional
	Backup *EtcdRestoreBackup `json:"backup,omitempty"`

	// object is a backup in a bucket, for which there is no HCPEtcdBackup.
	//
	// +optional
	Object *EtcdRestoreObject `json:"object,omitempty"`

	// member is the member of a highly available etcd that still has its data, after two of three were lost: all members begin with its
	// data. It is rejected while etcd has a majority.
	//
	// +optional
	// +kubebuilder:validation:Enum=etcd-0;etcd-1;etcd-2
	Member string `json:"member,omitempty"`

	// replaceVolumes deletes the volumes of the members before they begin, but not that of spec.member. It is for volumes that are
	// lost. Without it, members keep their volumes.
	//
	// +optional
	ReplaceVolumes bool `json:"replaceVolumes,omitempty"`

	// fromInfraID is the infraID of the cluster that the backup was made of, if that is another cluster. Without it, such a backup is
	// rejected.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	FromInfraID string `json:"fromInfraID,omitempty"`
}

// EtcdRestoreBackup refers to an HCPEtcdBackup.
type EtcdRestoreBackup struct {
	// name is the name of the HCPEtcdBackup.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// hostedClusterName is the HostedCluster in the same namespace that has the HCPEtcdBackup. Default: the cluster that is restored.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	HostedClusterName string `json:"hostedClusterName,omitempty"`
}

// EtcdRestoreObject is a backup in a bucket of AWS S3. Its SHA-256 checksum is in the object with the suffix .sha256.
type EtcdRestoreObject struct {
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

	// key is the key of the backup.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key,omitempty"`

	// roleARN is the role that reads the backup. It trusts the subject hypershift:etcd-backup of the cluster's token issuer.
	//
	// +required
	RoleARN RoleARN `json:"roleARN,omitempty"`

	// bucketOwner is the account that must own the bucket. Default: the account of the role.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	BucketOwner string `json:"bucketOwner,omitempty"`
}

// EtcdRestoreStatus is the observed state of a restore.
type EtcdRestoreStatus struct {
	// conditions reports the state of the restore.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=10
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// startTime is when the restore began. From then on it is finished, and cannot be stopped.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the cluster was up again.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// snapshotURL is the backup, as s3://bucket/key. It is empty for the data of a member.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	SnapshotURL string `json:"snapshotURL,omitempty"`
}

// EtcdRestore makes a HostedCluster go back to a backup of its etcd, or begin with one. docs/backup.md describes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=etcdrestores,scope=Namespaced,categories=hypershift
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.hostedClusterName`
// +kubebuilder:printcolumn:name="Restored",type=string,JSONPath=`.status.conditions[?(@.type=="EtcdRestored")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="EtcdRestored")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="EtcdRestored")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +genclient
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec EtcdRestoreSpec `json:"spec,omitzero"`
	// +optional
	Status EtcdRestoreStatus `json:"status,omitzero"`

	unreadable `json:"-"`
}

// EtcdRestoreList is a list of EtcdRestores.
// +kubebuilder:object:root=true
type EtcdRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdRestore `json:"items"`
}

// UnmarshalJSON decodes all fields that can be decoded; see Unreadable.
func (in *EtcdRestore) UnmarshalJSON(text []byte) (err error) {
	type plain EtcdRestore
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}

// GetConditions returns the conditions.
func (in *EtcdRestore) GetConditions() []metav1.Condition { return in.Status.Conditions }

// SetConditions replaces the conditions.
func (in *EtcdRestore) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// IsRestoreFinished is true for a restore that is complete or was rejected.
func IsRestoreFinished(r *EtcdRestore) bool {
	c := meta.FindStatusCondition(r.Status.Conditions, EtcdRestored)
	return c != nil && (c.Status == metav1.ConditionTrue || c.Reason == RestoreRejectedReason)
}
