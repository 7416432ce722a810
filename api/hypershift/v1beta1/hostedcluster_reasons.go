package v1beta1

// Reasons that conditions of every kind share.
const (
	// AsExpectedReason: nothing needs to be done.
	AsExpectedReason = "AsExpected"
	// WaitingForReason: something else comes first; the message names it. Nothing to do here.
	WaitingForReason = "WaitingFor"
	// StatusUnknownReason: nobody has looked yet, or whoever looks cannot be reached. Nothing to do unless it stays.
	StatusUnknownReason = "StatusUnknown"
	// NotFoundReason: something that was named does not exist. Make it, or name something else.
	NotFoundReason = "NotFound"
	// ReconcileErrorReason: an attempt failed; the message holds the errors. It is tried again by itself.
	ReconcileErrorReason = "ReconcileError"
	// DeletingReason: the object is being deleted. Nothing to do.
	DeletingReason = "Deleting"
	// UnreadableReason: the object holds a value that cannot be read, written past validation. Write the field again.
	UnreadableReason = "Unreadable"
)

// Reasons of a HostedCluster's conditions about what the user wrote and brought.
const (
	// InvalidConfigurationReason: spec contradicts itself or the platform. Change what the message names.
	InvalidConfigurationReason = "InvalidConfiguration"
	// PlatformConfigMissingReason: the section of spec.platform for the platform's type is missing. Add it.
	PlatformConfigMissingReason = "PlatformConfigMissing"
	// NetworksOverlapReason: two networks share addresses. Give one of them another range.
	NetworksOverlapReason = "NetworksOverlap"
	// UnsupportedPublishingReason: a service is published in a way that the platform does not know. Change spec.services.
	UnsupportedPublishingReason = "UnsupportedPublishing"
	// InfraIDInUseReason: another HostedCluster has the same infraID, or had it in another namespace. Create this one again with another, or without.
	InfraIDInUseReason = "InfraIDInUse"
	// NamespaceInUseReason: the namespace for the control plane exists and belongs to somebody else. Choose another name for
	// the HostedCluster, or another namespace.
	NamespaceInUseReason = "NamespaceInUse"
	// NameTooLongReason: namespace and name together do not fit into the name of the control plane's namespace. Choose
	// shorter ones.
	NameTooLongReason = "NameTooLong"
	// UnsupportedClusterReason: this installation cannot run such a cluster. The message names the missing flag.
	UnsupportedClusterReason = "UnsupportedCluster"
	// SecretNotFoundReason: a Secret that spec names does not exist beside the HostedCluster. Create it.
	SecretNotFoundReason = "SecretNotFound"
	// InvalidSecretReason: a Secret that spec names lacks a key, or its value cannot be read. Correct it.
	InvalidSecretReason = "InvalidSecret"
	// ConfigMapNotFoundReason: a ConfigMap that spec names does not exist beside the HostedCluster. Create it.
	ConfigMapNotFoundReason = "ConfigMapNotFound"
	// InvalidConfigMapReason: a ConfigMap that spec names lacks a key, or its value cannot be read. Correct it.
	InvalidConfigMapReason = "InvalidConfigMap"
	// InvalidImageReason: the release payload cannot be read, or cannot be run. The message says why.
	InvalidImageReason = "InvalidImage"
	// NotActedOnReason: this version accepts the fields and does nothing about them.
	NotActedOnReason = "NotActedOn"
	// UnmanagedEtcdMisconfiguredReason: the Secret for the user's own etcd is missing or incomplete. Complete it.
	UnmanagedEtcdMisconfiguredReason = "UnmanagedEtcdMisconfigured"
)
