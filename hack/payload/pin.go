package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hosted-control-planes/hypershift/internal/release/payload"
)

// pin replaces the tags of components by their current digests. A tag can be moved, and then two control planes of one
// release would run different images; and mirrors are used only for names with digests.
//
// The error names every image that was not found, so that one run is enough to correct a description.
func pin(ctx context.Context, d *payload.Description) error {
	components := slices.Sorted(maps.Keys(d.Components))
	digests, problems := make([]string, len(components)), make([]error, len(components))
	var group sync.WaitGroup
	for i, component := range components {
		group.Go(func() { digests[i], problems[i] = resolve(ctx, d.Components[component]) })
	}
	group.Wait()
	var missing []error
	for i, component := range components {
		if problems[i] != nil {
			missing = append(missing, fmt.Errorf("component %s: %w", component, problems[i]))
			continue
		}
		if version := d.VersionOf(component); version != "" { // a digest has none
			if d.Versions == nil {
				d.Versions = map[string]string{}
			}
			d.Versions[component] = version
		}
		d.Components[component] = digests[i]
	}
	if len(missing) > 0 {
		return fmt.Errorf("reading the digests of %d of %d images (-pin=false keeps the tags):\n%w", len(missing), len(components), errors.Join(missing...))
	}
	return nil
}

// resolve returns the name of an image by digest. For several architectures, this is the digest of the index.
func resolve(ctx context.Context, image string) (string, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return "", err
	}
	if _, exact := ref.(name.Digest); exact {
		return image, nil
	}
	descriptor, err := remote.Head(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return "", err
	}
	return ref.Context().Digest(descriptor.Digest.String()).String(), nil
}
