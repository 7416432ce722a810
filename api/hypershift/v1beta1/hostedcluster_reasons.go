package v1beta1

// Reasons that conditions of all resources share.
const (
	// AsExpectedReason: the state is as desired. No action is needed.
	AsExpectedReason = "AsExpected"
	// WaitingForReason: another step has to complete first. The message names it. No action is needed.
	WaitingForReason = "WaitingFor"
	// StatusUnknownReason: there is no result yet, or the source of the status cannot be reached. No action is needed
	// unless this persists.
	StatusUnknownReason = "StatusUnknown"
	// ReconcileErrorReason: the reconcile failed. The message contains the errors. The operator retries.
	ReconcileErrorReason = "ReconcileError"
	// DeletingReason: the object is being deleted. No action is needed.
	DeletingReason = "Deleting"
	// UnreadableReason: the object has a value that cannot be decoded. It was written without validation. Set the
	// field again.
	UnreadableReason = "Unreadable"
)

// Reasons of a HostedCluster's conditions about input of the user.
const (
	// InvalidConfigurationReason: fields of spec contradict each other or the platform. Change the field that the
	// message names.
	InvalidConfigurationReason = "InvalidConfiguration"
	// PlatformConfigMissingReason: the section of spec.platform for the platform's type is missing. Add it.
	PlatformConfigMissingReason = "PlatformConfigMissing"
	// NetworksOverlapReason: two networks share addresses. Set another range for one of them.
	NetworksOverlapReason = "NetworksOverlap"
	// UnsupportedPublishingReason: the platform does not support the publishing strategy of a service. Change
	// spec.services.
	UnsupportedPublishingReason = "UnsupportedPublishing"
	// InfraIDInUseReason: another HostedCluster has the same infraID, or had it in another namespace. Create this
	// HostedCluster again with another infraID, or without one.
	InfraIDInUseReason = "InfraIDInUse"
	// NamespaceInUseReason: the namespace for the control plane exists and has another owner. Use another name or
	// another namespace for the HostedCluster.
	NamespaceInUseReason = "NamespaceInUse"
	// NameTooLongReason: namespace and name of the HostedCluster are too long for the name of the control plane's
	// namespace. Use shorter ones.
	NameTooLongReason = "NameTooLong"
	// UnsupportedClusterReason: this installation cannot run the cluster. The message names the missing flag.
	UnsupportedClusterReason = "UnsupportedCluster"
	// SecretNotFoundReason: a Secret in spec does not exist in the namespace of the HostedCluster. Create it.
	SecretNotFoundReason = "SecretNotFound"
	// InvalidSecretReason: a Secret in spec lacks a key, or its value is invalid. Correct it.
	InvalidSecretReason = "InvalidSecret"
	// ConfigMapNotFoundReason: a ConfigMap in spec does not exist in the namespace of the HostedCluster. Create it.
	ConfigMapNotFoundReason = "ConfigMapNotFound"
	// InvalidConfigMapReason: a ConfigMap in spec lacks a key, or its value is invalid. Correct it.
	InvalidConfigMapReason = "InvalidConfigMap"
	// InvalidImageReason: the release payload cannot be read, or cannot be run. The message contains the reason.
	InvalidImageReason = "InvalidImage"
	// NotActedOnReason: this version accepts the fields, but they have no effect yet.
	NotActedOnReason = "NotActedOn"
	// UnmanagedEtcdMisconfiguredReason: the Secret for an unmanaged etcd is missing or incomplete. Complete it.
	UnmanagedEtcdMisconfiguredReason = "UnmanagedEtcdMisconfigured"
)
