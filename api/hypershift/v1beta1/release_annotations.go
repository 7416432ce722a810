package v1beta1

// Annotations of a HostedCluster about its release.
const (
	// ForceUpgradeToAnnotation is a release image that may follow any other: a step back, or one over a minor version. It
	// counts only while it is exactly spec.release.image, so that it does not force the upgrade after the one it was meant for.
	ForceUpgradeToAnnotation = "hypershift.openshift.io/force-upgrade-to"
	// SkipReleaseImageValidationAnnotation, if it is true, lets a cluster have any release that can be read, whatever its
	// version.
	SkipReleaseImageValidationAnnotation = "hypershift.openshift.io/skip-release-image-validation"
)
