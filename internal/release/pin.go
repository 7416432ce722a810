package release

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"
)

// maxLookups bounds how many components of one payload are looked up at the same time.
const maxLookups = 8

// Pin names an image by a digest that was read of it before. A tag may have moved since. Without a digest, and for an image that is
// named by one, it returns the image itself.
func Pin(image, digest string) string {
	ref, err := name.ParseReference(image)
	if err != nil || !strings.HasPrefix(digest, "sha256:") {
		return image
	}
	if _, exact := ref.(name.Digest); exact {
		return image
	}
	return strings.TrimSuffix(image, ":"+ref.Identifier()) + "@" + digest
}

// pin names the components by the repository that they are pulled from and by digest, so that a moved tag does not change
// the running programs. If several cannot be looked up, it returns the error of the first by name, so that the message does
// not change.
func (r *Registry) pin(ctx context.Context, q *question, components map[string]string) error {
	names := slices.Sorted(maps.Keys(components))
	pinned, errs := make([]string, len(names)), make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(maxLookups)
	for i, component := range names {
		group.Go(func() error {
			pinned[i], errs[i] = r.digestOf(ctx, q, r.Overrides.Apply(components[component]))
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	for i, component := range names {
		if errs[i] != nil {
			return unpinned(component, components[component], errs[i])
		}
		components[component] = pinned[i]
	}
	return nil
}

// unpinned is the failure of a payload with a component that cannot be looked up.
func unpinned(component, image string, err error) error {
	kind, detail := classify(err)
	if kind != Unreachable {
		kind = Incomplete
	}
	return &failure{kind: kind, detail: fmt.Sprintf("looking up its component %s, image %s: %s", component, clip(image), detail), err: err}
}

// digestOf returns the name by digest of an image that may be named by a tag.
func (r *Registry) digestOf(ctx context.Context, q *question, image string) (string, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return "", err
	}
	if _, exact := ref.(name.Digest); exact {
		return image, nil
	}
	auth, _, err := credentials(q.pullSecret, ref.Context())
	if err != nil {
		return "", err
	}
	descriptor, err := remote.Head(ref, append(options(auth, r.Transport), remote.WithContext(ctx))...)
	if err != nil {
		return "", err
	}
	return Pin(image, descriptor.Digest.String()), nil
}
