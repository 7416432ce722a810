package v1beta1

// Annotations of a HostedCluster about its release.
const (
	// ForceUpgradeToAnnotation is a release image that is accepted after any other: a downgrade, or an upgrade that
	// skips a minor version. It has an effect only while it equals spec.release.image, so that it does not force a
	// later upgrade.
	ForceUpgradeToAnnotation = "hypershift.openshift.io/force-upgrade-to"
	// SkipReleaseImageValidationAnnotation, if "true", accepts every release that can be read, whatever its version.
	SkipReleaseImageValidationAnnotation = "hypershift.openshift.io/skip-release-image-validation"
)

// Annotations of a HostedControlPlane about its releases. The hypershift-operator writes them.
const (
	// ReleaseDigestAnnotation is the digest, such as sha256:…, of the image in spec.releaseImage that has passed the
	// checks of the hypershift-operator. The control plane runs this digest, even if spec.releaseImage is a tag that
	// has moved since.
	ReleaseDigestAnnotation = "hypershift.openshift.io/release-image-digest"
	// ControlPlaneReleaseDigestAnnotation is the digest of the image in spec.controlPlaneReleaseImage that has passed
	// these checks.
	ControlPlaneReleaseDigestAnnotation = "hypershift.openshift.io/control-plane-release-image-digest"
)
