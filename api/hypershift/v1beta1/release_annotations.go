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

// Annotations of a HostedControlPlane about its releases. The hypershift-operator writes them.
const (
	// ReleaseDigestAnnotation is the digest, such as sha256:…, of the image spec.releaseImage that has passed the checks of the
	// hypershift-operator. The control plane runs this one, also when spec.releaseImage is a tag that has moved since.
	ReleaseDigestAnnotation = "hypershift.openshift.io/release-image-digest"
	// ControlPlaneReleaseDigestAnnotation is the same of spec.controlPlaneReleaseImage.
	ControlPlaneReleaseDigestAnnotation = "hypershift.openshift.io/control-plane-release-image-digest"
)
