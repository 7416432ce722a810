package v1beta1

// Reasons of ValidReleaseImage, of HostedClusters and NodePools alike.
const (
	// ReleaseImageNotFoundReason: the registry does not have the release image. Choose another spec.release.image, or push it.
	ReleaseImageNotFoundReason = "ReleaseImageNotFound"
	// ReleaseImageDeniedReason: the registry does not give the release image to the holder of the pull secret. Add credentials
	// that may pull it to the Secret that spec.pullSecret names.
	ReleaseImageDeniedReason = "ReleaseImageDenied"
	// RegistryUnreachableReason: the registry gave no answer to go by; the message says why. It is asked again by itself. Check
	// the network between the hypershift-operator and the registry if it stays, or install with --registry-overrides.
	RegistryUnreachableReason = "RegistryUnreachable"
	// ReleaseImageNotAllowedReason: the administrator of the management cluster accepts releases of other repositories only, which
	// the message lists. Choose a release there, or have the repository added (chart value releases.allowedRepositories).
	ReleaseImageNotAllowedReason = "ReleaseImageNotAllowed"
	// ReleaseImageNotSignedReason: the administrator of the management cluster accepts signed releases only, and no trusted key has
	// signed this one. Choose a release of your vendor, or have the key added (chart value releases.signatureKeys).
	ReleaseImageNotSignedReason = "ReleaseImageNotSigned"
	// UnsupportedVersionReason: this version of the operators cannot run such a release. Choose one in the window that the
	// message names.
	UnsupportedVersionReason = "UnsupportedVersion"
	// UnsupportedArchitectureReason: the release has no images for the nodes that the control plane would run on. Choose one for
	// several architectures, or nodes with spec.nodeSelector.
	UnsupportedArchitectureReason = "UnsupportedArchitecture"
	// UnsupportedUpgradeReason: the release cannot follow the present one. Choose one of the same or the next minor version, or
	// force it with the annotation that the message names.
	UnsupportedUpgradeReason = "UnsupportedUpgrade"
)
