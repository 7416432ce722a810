package v1beta1

// Reasons of ValidReleaseImage of HostedClusters and NodePools.
const (
	// ReleaseImageNotFoundReason: the registry does not have the release image. Set another spec.release.image, or
	// push the image.
	ReleaseImageNotFoundReason = "ReleaseImageNotFound"
	// ReleaseImageDeniedReason: the registry denies access to the release image. Add credentials to the Secret in spec.pullSecret.
	ReleaseImageDeniedReason = "ReleaseImageDenied"
	// RegistryUnreachableReason: the registry did not respond, or its response cannot be used. If this persists, check the network
	// between the hypershift-operator and the registry, or install with --registry-overrides.
	RegistryUnreachableReason = "RegistryUnreachable"
	// ReleaseImageNotAllowedReason: the administrator accepts only releases of the repositories in the message. Use one of
	// them, or request another (chart value releases.allowedRepositories).
	ReleaseImageNotAllowedReason = "ReleaseImageNotAllowed"
	// ReleaseImageNotSignedReason: the administrator accepts only signed releases, and no trusted key has signed this one. Set
	// another release, or request that the key is added (chart value releases.signatureKeys).
	ReleaseImageNotSignedReason = "ReleaseImageNotSigned"
	// UnsupportedVersionReason: the operators do not support the release's version. Set a release in the range that the message
	// names.
	UnsupportedVersionReason = "UnsupportedVersion"
	// UnsupportedArchitectureReason: the release has no images for the nodes on which the control plane would run.
	// Set a release for several architectures, or select other nodes with spec.nodeSelector.
	UnsupportedArchitectureReason = "UnsupportedArchitecture"
	// UnsupportedUpgradeReason: an upgrade from the present release to this one is not supported. Set a release of the same or
	// the next minor version, or force it with the annotation in the message.
	UnsupportedUpgradeReason = "UnsupportedUpgrade"
)
