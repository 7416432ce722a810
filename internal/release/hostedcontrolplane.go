package release

import (
	"context"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// For returns a Resolver for the release of a control plane. The hypershift-operator has checked the policy of the
// installation for the digest in an annotation. A tag that has moved since is ignored until it has been checked again.
func For(hcp *hyperv1.HostedControlPlane, resolver Resolver) Resolver {
	digests := map[string]string{hcp.Spec.ReleaseImage: hcp.Annotations[hyperv1.ReleaseDigestAnnotation]}
	if image := ptr.Deref(hcp.Spec.ControlPlaneReleaseImage, ""); image != "" {
		digests[image] = hcp.Annotations[hyperv1.ControlPlaneReleaseDigestAnnotation]
	}
	return &checked{digests: digests, resolver: From(hcp.Spec.ImageContentSources, resolver)}
}

type checked struct {
	digests  map[string]string
	resolver Resolver
}

// Resolve implements Resolver.
func (c *checked) Resolve(ctx context.Context, image string, pullSecret []byte) (*Release, error) {
	rel, err := c.resolver.Resolve(ctx, Pin(image, c.digests[image]), pullSecret)
	if err != nil {
		return nil, err
	}
	named := *rel
	named.Image = image
	return &named, nil
}

// NodePrograms implements Resolver.
func (c *checked) NodePrograms(ctx context.Context, image string, arch hyperv1.Architecture, pullSecret []byte) (*hyperv1.NodePrograms, error) {
	return c.resolver.NodePrograms(ctx, image, arch, pullSecret)
}
