package v1beta1

// Reasons that conditions of all resources share.
const (
	// AsExpectedReason: the state is as desired.
	AsExpectedReason = "AsExpected"
	// WaitingForReason: another step has to complete first.
	WaitingForReason = "WaitingFor"
	// StatusUnknownReason: there is no result yet, or the source of the status cannot be reached.
	StatusUnknownReason = "StatusUnknown"
	// ReconcileErrorReason: the reconcile failed.
	ReconcileErrorReason = "ReconcileError"
	// DeletingReason: the object is being deleted.
	DeletingReason = "Deleting"
	// UnreadableReason: a value cannot be decoded, because it was written without validation. Set the field again.
	UnreadableReason = "Unreadable"
)

// Reasons of a HostedCluster's conditions about input of the user.
const (
	// InvalidConfigurationReason: fields of spec contradict each other or the platform.
	InvalidConfigurationReason = "InvalidConfiguration"
	// PlatformConfigMissingReason: the section of spec.platform for the platform's type is missing. Add it.
	PlatformConfigMissingReason = "PlatformConfigMissing"
	// NetworksOverlapReason: two networks share addresses. Set another range for one of them.
	NetworksOverlapReason = "NetworksOverlap"
	// UnsupportedPublishingReason: the platform does not support a service's publishing strategy. Change spec.services.
	UnsupportedPublishingReason = "UnsupportedPublishing"
	// InfraIDInUseReason: another HostedCluster has the same infraID, or had it in another namespace. Create this
	// HostedCluster again with another infraID, or without one.
	InfraIDInUseReason = "InfraIDInUse"
	// NamespaceInUseReason: the control plane's namespace exists and has another owner. Use another name or another namespace for
	// the HostedCluster.
	NamespaceInUseReason = "NamespaceInUse"
	// NameTooLongReason: namespace and name of the HostedCluster are too long for the control plane's namespace name. Use shorter
	// ones.
	NameTooLongReason = "NameTooLong"
	// UnsupportedClusterReason: this installation cannot run the cluster. The message names the missing flag.
	UnsupportedClusterReason = "UnsupportedCluster"
	// SecretNotFoundReason: a Secret in spec does not exist in the HostedCluster's namespace. Create it.
	SecretNotFoundReason = "SecretNotFound"
	// InvalidSecretReason: a Secret in spec lacks a key, or its value is invalid.
	InvalidSecretReason = "InvalidSecret"
	// ConfigMapNotFoundReason: a ConfigMap in spec does not exist in the HostedCluster's namespace. Create it.
	ConfigMapNotFoundReason = "ConfigMapNotFound"
	// InvalidConfigMapReason: a ConfigMap in spec lacks a key, or its value is invalid.
	InvalidConfigMapReason = "InvalidConfigMap"
	// InvalidImageReason: the release payload cannot be read, or cannot be run.
	InvalidImageReason = "InvalidImage"
	// NotActedOnReason: this version accepts the fields, but they have no effect yet.
	NotActedOnReason = "NotActedOn"
	// UnmanagedEtcdMisconfiguredReason: the Secret for an unmanaged etcd is missing or incomplete. Complete it.
	UnmanagedEtcdMisconfiguredReason = "UnmanagedEtcdMisconfigured"
)
