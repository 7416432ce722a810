package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// EtcdManagementType says who runs etcd.
//
// +kubebuilder:validation:Enum=Managed;Unmanaged
type EtcdManagementType string

const (
	// Managed etcd runs beside the control plane, and is ours to look after.
	Managed EtcdManagementType = "Managed"
	// Unmanaged etcd is brought by the user.
	Unmanaged EtcdManagementType = "Unmanaged"
)

// EtcdStorageType is a kind of storage for managed etcd.
//
// +kubebuilder:validation:Enum=PersistentVolume
type EtcdStorageType string

// PersistentVolumeEtcdStorage keeps etcd's data on persistent volumes.
const PersistentVolumeEtcdStorage EtcdStorageType = "PersistentVolume"

// EtcdSpec says where the hosted cluster keeps its state.
//
// +kubebuilder:validation:XValidation:rule="self.managementType == 'Managed' ? has(self.managed) : !has(self.managed)",message="managed is required when managementType is Managed, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.managementType == 'Unmanaged' ? has(self.unmanaged) : !has(self.unmanaged)",message="unmanaged is required when managementType is Unmanaged, and forbidden otherwise"
type EtcdSpec struct {
	// managementType says who runs etcd. It cannot be changed.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="managementType cannot be changed"
	ManagementType EtcdManagementType `json:"managementType,omitempty"`

	// managed holds the settings of an etcd of ours.
	//
	// +optional
	Managed *ManagedEtcdSpec `json:"managed,omitempty"`

	// unmanaged says how to reach an etcd of the user's.
	//
	// +optional
	Unmanaged *UnmanagedEtcdSpec `json:"unmanaged,omitempty"`
}

// ManagedEtcdSpec holds the settings of an etcd of ours.
type ManagedEtcdSpec struct {
	// storage is where etcd keeps its data.
	//
	// +required
	Storage ManagedEtcdStorageSpec `json:"storage,omitzero"`
}

// ManagedEtcdStorageSpec is where etcd keeps its data.
//
// +kubebuilder:validation:XValidation:rule="has(self.persistentVolume) == has(oldSelf.persistentVolume)",message="persistentVolume can neither be added nor removed: the volumes exist, and their size and class cannot be changed"
// +kubebuilder:validation:XValidation:rule="has(self.restoreSnapshotURL) == has(oldSelf.restoreSnapshotURL) && (!has(self.restoreSnapshotURL) || self.restoreSnapshotURL == oldSelf.restoreSnapshotURL)",message="restoreSnapshotURL can neither be added, nor changed, nor removed: a snapshot is restored at creation only"
type ManagedEtcdStorageSpec struct {
	// type is the kind of storage.
	//
	// +required
	Type EtcdStorageType `json:"type,omitempty"`

	// persistentVolume describes the volume of each member.
	//
	// +optional
	PersistentVolume *PersistentVolumeEtcdStorageSpec `json:"persistentVolume,omitempty"`

	// restoreSnapshotURL is where a snapshot can be fetched from which the cluster is restored, instead of starting empty.
	// Only an etcd that has no data yet reads it.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1
	RestoreSnapshotURL []SnapshotURL `json:"restoreSnapshotURL,omitempty"`
}

// SnapshotURL is where a snapshot of etcd can be fetched.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="self.matches('^(https|s3)://.+$')",message="must be an https or s3 URL"
type SnapshotURL string

// PersistentVolumeEtcdStorageSpec describes the volume of each etcd member.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName can neither be added, nor changed, nor removed"
type PersistentVolumeEtcdStorageSpec struct {
	// storageClassName is the class of the volumes. Without it the default class of the management cluster is used.
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

// UnmanagedEtcdSpec says how to reach an etcd of the user's.
type UnmanagedEtcdSpec struct {
	// endpoint is the client URL of etcd, such as https://etcd-client.example.com:2379. It cannot be changed: another etcd is
	// another cluster.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.startsWith('https://') && isURL(self)",message="must be an https URL"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="endpoint cannot be changed"
	Endpoint string `json:"endpoint,omitempty"`

	// tls says how to prove who we are.
	//
	// +required
	TLS EtcdTLSConfig `json:"tls,omitzero"`
}

// EtcdTLSConfig says how the API server and an etcd of the user's trust each other.
type EtcdTLSConfig struct {
	// clientSecret names a Secret beside the HostedCluster with the keys etcd-client.crt, etcd-client.key and
	// etcd-client-ca.crt.
	//
	// +required
	ClientSecret corev1.LocalObjectReference `json:"clientSecret,omitzero"`
}
