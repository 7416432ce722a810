package images

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	packages "github.com/hosted-control-planes/hypershift/test/fixture/debian"
)

// Options configure Push.
type Options struct {
	// Registry is the host and port of a registry without authentication.
	Registry string
	// Progress receives a line for each pushed image.
	Progress io.Writer
}

// A Set contains the images in a registry: names by digest, by Key.
type Set map[string]string

// Dir is the cache of layers, in the layout of registry.NewDiskBlobHandler: a registry on this directory has all of them.
func Dir() (string, error) {
	cache, err := pinned.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "images"), nil
}

// Push builds the images of these names, or by default the images of every lab, and pushes the images that the registry lacks.
func Push(ctx context.Context, o Options, names ...string) (Set, error) {
	w, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	set, lock := Set{}, sync.Mutex{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2) // more would compete for the disk
	for _, i := range chosen(names) {
		group.Go(func() error {
			img, err := i.build(ctx, w)
			if err != nil {
				return err
			}
			digest, err := o.push(ctx, i.name, tag(i.version), img)
			if err != nil {
				return err
			}
			lock.Lock()
			defer lock.Unlock()
			set[i.key()] = digest
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	w.shelf.clear(time.Now().Add(-shelfLife))
	return set, nil
}

// tag returns the tag of an image, for users that list the registry. All references use digests.
func tag(version string) string {
	if version == "" {
		return "lab"
	}
	return "v" + version
}

// push pushes an image unless it exists, and returns its name by digest.
func (o Options) push(ctx context.Context, repository, tag string, img v1.Image) (string, error) {
	digest, err := img.Digest()
	if err != nil {
		return "", fmt.Errorf("making image %s: %w", repository, err)
	}
	ref, err := name.NewTag(o.Registry+"/"+repository+":"+tag, name.Insecure)
	if err != nil {
		return "", fmt.Errorf("naming image %s: %w", repository, err)
	}
	byDigest := ref.Context().Digest(digest.String()).String()
	if there, err := remote.Head(ref, remote.WithContext(ctx)); err == nil && there.Digest == digest {
		return byDigest, nil
	}
	if err := remote.Write(ref, img, remote.WithContext(ctx)); err != nil {
		return "", fmt.Errorf("pushing image %s: %w", ref, err)
	}
	fmt.Fprintf(o.Progress, "image %s\n", ref)
	return byDigest, nil
}

// workshop holds the inputs of image builds.
type workshop struct {
	root, cache string
	shelf       shelf
	debian      func() (debian, error)
	haproxy     func() (debian, error)
	conformance func() (debian, error)
	progress    io.Writer
}

func open(ctx context.Context, o Options) (*workshop, error) {
	cache, err := Dir()
	if err != nil {
		return nil, err
	}
	root, err := pinned.Root()
	if err != nil {
		return nil, err
	}
	return &workshop{
		root: root, cache: cache, shelf: shelf{dir: cache}, progress: o.Progress,
		debian:      sync.OnceValues(func() (debian, error) { return unpackDebian(ctx, cache, packages.Programs) }),
		haproxy:     sync.OnceValues(func() (debian, error) { return unpackDebian(ctx, cache, packages.HAProxy) }),
		conformance: sync.OnceValues(func() (debian, error) { return unpackDebian(ctx, cache, packages.Conformance) }),
	}, nil
}
