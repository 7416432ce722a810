package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupsOnSchedule is the condition of an EtcdBackupSchedule. It is True when each selected cluster has a stored backup of the last
// scheduled time. A backup has an hour for that.
const BackupsOnSchedule = "BackupsOnSchedule"

// Reasons of BackupsOnSchedule.
const (
	// BackupsMissedReason is the reason of a schedule with clusters that have no backup of the last scheduled time.
	BackupsMissedReason = "BackupsMissed"
	// InvalidScheduleReason is the reason of a schedule that cannot be read.
	InvalidScheduleReason = "InvalidSchedule"
	// LastBackupMissingReason is the reason of the event for a cluster that is deleted without its last backup.
	LastBackupMissingReason = "LastBackupMissing"
	// SuspendedReason is the reason of a schedule with spec.suspend.
	SuspendedReason = "Suspended"
)

const (
	// EtcdBackupScheduleLabel is on an HCPEtcdBackup that a schedule has created: the UID of the schedule.
	EtcdBackupScheduleLabel = "hypershift.openshift.io/etcd-backup-schedule"
	// LastBackupFinalizer is on a HostedCluster until the last backup before its deletion is made.
	LastBackupFinalizer = "hypershift.openshift.io/last-etcd-backup"
	// EtcdBackupScheduleFinalizer is on an EtcdBackupSchedule with beforeDeletion.
	EtcdBackupScheduleFinalizer = "hypershift.openshift.io/etcd-backup-schedule"
)

// Annotations of an HCPEtcdBackup. An EtcdBackupSchedule sets them.
const (
	// ScheduledTimeAnnotation is the scheduled time of the backup, in RFC 3339.
	ScheduledTimeAnnotation = "hypershift.openshift.io/scheduled-time"
	// EtcdBackupExpiredAnnotation, if "true", deletes a backup with its object in the bucket.
	EtcdBackupExpiredAnnotation = "hypershift.openshift.io/etcd-backup-expired"
)

// EtcdBackupScheduleSpec defines when backups of which clusters are made, and how long they are kept.
type EtcdBackupScheduleSpec struct {
	// hostedClusterSelector selects HostedClusters of the namespace by their labels. In the namespace of the hypershift-operator
	// it selects those of all namespaces. An empty selector selects all.
	//
	// +optional
	HostedClusterSelector metav1.LabelSelector `json:"hostedClusterSelector,omitzero"`

	// schedule is a cron expression of five fields, such as "0 3 * * *", or a descriptor, such as "@daily".
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Schedule string `json:"schedule,omitempty"`

	// timeZone is the name of the schedule's time zone, such as Europe/Berlin. Default: UTC.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`

	// jitter spreads the backups of the clusters over this time after the scheduled time. Each cluster keeps its place. Default: 30m, or half
	// the time between two backups if that is less.
	//
	// +optional
	Jitter *metav1.Duration `json:"jitter,omitempty"`

	// suspend makes no more backups and deletes none.
	//
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// retention defines which backups of the schedule are kept.
	//
	// +optional
	Retention EtcdBackupRetention `json:"retention,omitzero"`

	// beforeDeletion makes a last backup of a cluster before it is deleted. The deletion waits for it as long as the annotation
	// hypershift.openshift.io/give-up-after of the HostedCluster allows, 10m by default. The last backup is kept.
	//
	// +optional
	BeforeDeletion bool `json:"beforeDeletion,omitempty"`

	// storage defines where backups are stored. Outside of the namespace of the hypershift-operator it needs a roleARN.
	//
	// +required
	Storage HCPEtcdBackupStorage `json:"storage,omitzero"`
}

// EtcdBackupRetention defines which backups are kept. The last stored backup of a cluster is always kept.
type EtcdBackupRetention struct {
	// count is the number of stored backups of each cluster. Default: 7.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Count int32 `json:"count,omitempty"`

	// maxAge is the age after which a backup is deleted. Default: no limit.
	//
	// +optional
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
}

// EtcdBackupScheduleStatus is the observed state of a schedule.
type EtcdBackupScheduleStatus struct {
	// conditions reports the state of the schedule.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=10
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// clusters is the number of selected HostedClusters.
	//
	// +optional
	Clusters int32 `json:"clusters,omitempty"`

	// missed is the number of clusters without a stored backup of the last scheduled time.
	//
	// +optional
	Missed int32 `json:"missed,omitempty"`

	// lastScheduleTime is the last scheduled time.
	//
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// nextScheduleTime is the next scheduled time.
	//
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
}

// EtcdBackupSchedule makes backups of HostedClusters at scheduled times: it creates and deletes HCPEtcdBackups. docs/backup.md describes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=etcdbackupschedules,scope=Namespaced,shortName=ebs;ebss,categories=hypershift
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspend`,priority=1
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusters`
// +kubebuilder:printcolumn:name="Missed",type=integer,JSONPath=`.status.missed`
// +kubebuilder:printcolumn:name="On schedule",type=string,JSONPath=`.status.conditions[?(@.type=="BackupsOnSchedule")].status`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +genclient
type EtcdBackupSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec EtcdBackupScheduleSpec `json:"spec,omitzero"`
	// +optional
	Status EtcdBackupScheduleStatus `json:"status,omitzero"`

	unreadable `json:"-"`
}

// EtcdBackupScheduleList is a list of EtcdBackupSchedules.
// +kubebuilder:object:root=true
type EtcdBackupScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdBackupSchedule `json:"items"`
}

// UnmarshalJSON decodes all fields that can be decoded; see Unreadable.
func (in *EtcdBackupSchedule) UnmarshalJSON(text []byte) (err error) {
	type plain EtcdBackupSchedule
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}

// GetConditions returns the conditions.
func (in *EtcdBackupSchedule) GetConditions() []metav1.Condition { return in.Status.Conditions }

// SetConditions replaces the conditions.
func (in *EtcdBackupSchedule) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// IsBackupStored is true if the backup is verified and stored.
func IsBackupStored(b *HCPEtcdBackup) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, BackupCompleted)
}
