package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// EtcdManagementType defines whether the operator or the user runs etcd.
//
// +kubebuilder:validation:Enum=Managed;Unmanaged
type EtcdManagementType string

const (
	// Managed etcd runs in the namespace of the control plane. The operator manages it.
	Managed EtcdManagementType = "Managed"
	// Unmanaged etcd is run by the user.
	Unmanaged EtcdManagementType = "Unmanaged"
)

// EtcdStorageType is a type of storage for managed etcd.
//
// +kubebuilder:validation:Enum=PersistentVolume
type EtcdStorageType string

// PersistentVolumeEtcdStorage keeps etcd's data on persistent volumes.
const PersistentVolumeEtcdStorage EtcdStorageType = "PersistentVolume"

// EtcdSpec configures where the hosted cluster stores its state.
//
// +kubebuilder:validation:XValidation:rule="self.managementType == 'Managed' ? has(self.managed) : !has(self.managed)",message="managed is required when managementType is Managed, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.managementType == 'Unmanaged' ? has(self.unmanaged) : !has(self.unmanaged)",message="unmanaged is required when managementType is Unmanaged, and forbidden otherwise"
type EtcdSpec struct {
	// managementType defines whether the operator or the user runs etcd. It cannot be changed.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="managementType cannot be changed"
	ManagementType EtcdManagementType `json:"managementType,omitempty"`

	// managed configures an etcd that the operator runs.
	//
	// +optional
	Managed *ManagedEtcdSpec `json:"managed,omitempty"`

	// unmanaged configures how to reach an etcd that the user runs.
	//
	// +optional
	Unmanaged *UnmanagedEtcdSpec `json:"unmanaged,omitempty"`
}

// ManagedEtcdSpec configures an etcd that the operator runs.
type ManagedEtcdSpec struct {
	// storage defines where etcd stores its data.
	//
	// +required
	Storage ManagedEtcdStorageSpec `json:"storage,omitzero"`

	// scheduling selects the nodes of etcd's pods, in addition to nodeSelector and tolerations of the cluster.
	//
	// +optional
	Scheduling *EtcdSchedulingSpec `json:"scheduling,omitempty"`

	// backup configures the encryption of the backups of HCPEtcdBackups that name no key themselves.
	//
	// +optional
	Backup *HCPEtcdBackupConfig `json:"backup,omitempty"`
}

// EtcdSchedulingSpec selects the nodes of etcd's pods.
//
// +kubebuilder:validation:MinProperties=1
type EtcdSchedulingSpec struct {
	// nodeSelector are labels that the nodes must have.
	//
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="each key of nodeSelector must be the key of a label, such as example.com/name"
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// tolerations permits the pods to run on nodes with these taints.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// ManagedEtcdStorageSpec defines where etcd stores its data.
//
// +kubebuilder:validation:XValidation:rule="has(self.persistentVolume) == has(oldSelf.persistentVolume)",message="persistentVolume can neither be added nor removed: the volumes exist, and their size and class cannot be changed"
// +kubebuilder:validation:XValidation:rule="has(self.restoreSnapshotURL) == has(oldSelf.restoreSnapshotURL) && (!has(self.restoreSnapshotURL) || self.restoreSnapshotURL == oldSelf.restoreSnapshotURL)",message="restoreSnapshotURL can neither be added, nor changed, nor removed: a snapshot is restored at creation only"
type ManagedEtcdStorageSpec struct {
	// type is the type of storage.
	//
	// +required
	Type EtcdStorageType `json:"type,omitempty"`

	// persistentVolume describes the volume of each member.
	//
	// +optional
	PersistentVolume *PersistentVolumeEtcdStorageSpec `json:"persistentVolume,omitempty"`

	// restoreSnapshotURL is the URL of a snapshot from which a new cluster is restored. Only an etcd without data
	// reads it.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1
	RestoreSnapshotURL []SnapshotURL `json:"restoreSnapshotURL,omitempty"`
}

// SnapshotURL is the URL of a snapshot of etcd.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="self.matches('^(https|s3)://.+$')",message="must be an https or s3 URL"
type SnapshotURL string

// PersistentVolumeEtcdStorageSpec describes the volume of each etcd member.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName can neither be added, nor changed, nor removed"
type PersistentVolumeEtcdStorageSpec struct {
	// storageClassName is the storage class of the volumes. The default is the default class of the management
	// cluster.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// size is the size of each volume. It cannot be changed.
	//
	// +optional
	// +kubebuilder:default="8Gi"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="size cannot be changed"
	Size *resource.Quantity `json:"size,omitempty"`
}

// UnmanagedEtcdSpec configures how to reach an etcd that the user runs.
type UnmanagedEtcdSpec struct {
	// endpoint is the client URL of etcd, such as https://etcd-client.example.com:2379. It cannot be changed, because
	// another etcd contains another cluster.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.startsWith('https://') && isURL(self)",message="must be an https URL"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="endpoint cannot be changed"
	Endpoint string `json:"endpoint,omitempty"`

	// tls configures the client certificate and the certificate authority.
	//
	// +required
	TLS EtcdTLSConfig `json:"tls,omitzero"`
}

// EtcdTLSConfig configures TLS between the API server and an etcd that the user runs.
type EtcdTLSConfig struct {
	// clientSecret refers to a Secret in the namespace of the HostedCluster with the keys etcd-client.crt,
	// etcd-client.key and etcd-client-ca.crt.
	//
	// +required
	ClientSecret corev1.LocalObjectReference `json:"clientSecret,omitzero"`
}
