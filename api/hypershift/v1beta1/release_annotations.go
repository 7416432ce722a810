package v1beta1

// Annotations of a HostedCluster about its release.
const (
	// ForceUpgradeToAnnotation is a release image that is accepted after any other: a downgrade, or an upgrade that skips a minor
	// version. It has an effect only while it equals spec.release.image.
	ForceUpgradeToAnnotation = "hypershift.openshift.io/force-upgrade-to"
	// SkipReleaseImageValidationAnnotation, if "true", accepts every release that can be read, whatever its version.
	SkipReleaseImageValidationAnnotation = "hypershift.openshift.io/skip-release-image-validation"
)

// Annotations of a HostedControlPlane about its releases. The hypershift-operator writes them.
const (
	// ReleaseDigestAnnotation is the digest, such as sha256:…, of the image in spec.releaseImage that has passed the checks. The
	// control plane runs it, even if the tag has moved.
	ReleaseDigestAnnotation = "hypershift.openshift.io/release-image-digest"
	// ControlPlaneReleaseDigestAnnotation is the same for spec.controlPlaneReleaseImage.
	ControlPlaneReleaseDigestAnnotation = "hypershift.openshift.io/control-plane-release-image-digest"
)
