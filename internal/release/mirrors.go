package release

import (
	"context"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// From returns a Resolver for a cluster with mirrors. It reads an image by digest in the mirrors first, because a digest
// identifies the same image everywhere.
func From(sources []hyperv1.ImageContentSource, resolver Resolver) Resolver {
	if len(sources) == 0 {
		return resolver
	}
	return &mirrored{sources: sources, resolver: resolver}
}

type mirrored struct {
	sources  []hyperv1.ImageContentSource
	resolver Resolver
}

// Resolve implements Resolver. It tries the source last. A refusal of the source is returned only if every mirror has
// answered.
func (m *mirrored) Resolve(ctx context.Context, image string, pullSecret []byte) (*Release, error) {
	var away error
	for _, mirror := range m.mirrors(image) {
		rel, err := m.resolveFrom(ctx, mirror, image, pullSecret)
		if err == nil {
			named := *rel
			named.Image = image
			return &named, nil
		}
		if IsUnreachable(err) && away == nil {
			away = err
		}
	}
	rel, err := m.resolver.Resolve(ctx, image, pullSecret)
	if err != nil && away != nil {
		return nil, away
	}
	return rel, err
}

// resolveFrom checks the policy for the image, and not for the mirror, which a tenant may control: a digest identifies the
// same image everywhere.
func (m *mirrored) resolveFrom(ctx context.Context, mirror, image string, pullSecret []byte) (*Release, error) {
	if registry, ok := m.resolver.(*Registry); ok {
		return registry.resolveFrom(ctx, mirror, image, pullSecret)
	}
	return m.resolver.Resolve(ctx, mirror, pullSecret)
}

// mirrors returns the other names of an image, in order of preference.
func (m *mirrored) mirrors(image string) []string {
	if !strings.Contains(image, "@") {
		return nil
	}
	var images []string
	for _, source := range m.sources {
		for _, mirror := range source.Mirrors {
			if other := (Overrides{{Source: source.Source, Mirror: mirror}}).Apply(image); other != image {
				images = append(images, other)
			}
		}
	}
	return images
}
