package main

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/internal/release/payload"
)

// pin replaces the tags of components by their current digests. A tag can be moved, and then two control planes of one
// release would run different images; and mirrors are used only for names with digests.
func pin(ctx context.Context, d *payload.Description) error {
	type pinned struct{ component, image string }
	found := make(chan pinned, len(d.Components))
	group, ctx := errgroup.WithContext(ctx)
	for component, image := range d.Components {
		group.Go(func() error {
			digest, err := resolve(ctx, image)
			if err != nil {
				return fmt.Errorf("looking for the digest of component %s (-pin=false names it as it is): %w", component, err)
			}
			found <- pinned{component, digest}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	close(found)
	for p := range found {
		d.Components[p.component] = p.image
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
	there, err := remote.Head(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return "", err
	}
	return ref.Context().Digest(there.Digest.String()).String(), nil
}
