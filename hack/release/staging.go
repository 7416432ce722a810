package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// An artifact is an image, a chart or a payload.
type artifact struct {
	what       string // for people
	repository string // below the registry
	tag        string
	digest     string
}

// staging is a registry on loopback that has everything before it is pushed: ko, syft and helm read and write registries only.
type staging struct {
	host   string
	server *http.Server
}

func startStaging() (*staging, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the registry of unfinished images: %w", err)
	}
	s := &staging{host: listener.Addr().String(), server: &http.Server{
		Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: time.Minute,
	}}
	go func() { _ = s.server.Serve(listener) }() // ends with stop
	return s, nil
}

func (s *staging) stop() { _ = s.server.Close() }

// named returns the reference of an artifact by tag.
func (s *staging) named(a artifact) string { return s.host + "/" + a.repository + ":" + a.tag }

// push pushes an index and sets the digest of the artifact.
func (s *staging) push(ctx context.Context, a *artifact, index v1.ImageIndex) error {
	ref, err := name.NewTag(s.named(*a))
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("pushing %s: %w", ref, err)
	}
	return s.resolve(ctx, a)
}

// resolve sets the digest of an artifact that was pushed.
func (s *staging) resolve(ctx context.Context, a *artifact) error {
	found, err := s.get(ctx, *a)
	if err != nil {
		return err
	}
	a.digest = found.Digest.String()
	return nil
}

func (s *staging) get(ctx context.Context, a artifact) (*remote.Descriptor, error) {
	ref, err := name.NewTag(s.named(a))
	if err != nil {
		return nil, err
	}
	found, err := remote.Get(ref, remote.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	return found, nil
}

func (s *staging) index(ctx context.Context, repository, tag string) (v1.ImageIndex, error) {
	found, err := s.get(ctx, artifact{repository: repository, tag: tag})
	if err != nil {
		return nil, err
	}
	return found.ImageIndex()
}

// named returns the reference of an artifact by tag, in the registry of the release.
func (r *release) named(a artifact) string { return r.registry + "/" + a.repository + ":" + a.tag }

// exact returns the reference by digest.
func (r *release) exact(a artifact) string { return r.registry + "/" + a.repository + "@" + a.digest }

// reserve fails if the tag of an artifact refers to something else. Users have verified the target of a tag: it is never moved.
func (r *release) reserve(ctx context.Context, a artifact) error {
	ref, err := name.NewTag(r.named(a))
	if err != nil {
		return fmt.Errorf("naming the %s: %w", a.what, err)
	}
	found, err := remote.Head(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if refused := (*transport.Error)(nil); errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checking whether %s exists: %w", ref, err)
	}
	if found.Digest.String() != a.digest {
		return fmt.Errorf("%s exists with the digest %s, and this release has %s: releases are not replaced, use another version", ref, found.Digest, a.digest)
	}
	return nil
}

// push copies an artifact from staging to the registry.
func (r *release) push(ctx context.Context, s *staging, a artifact) error {
	staged, err := s.get(ctx, a)
	if err != nil {
		return err
	}
	ref, err := name.NewTag(r.named(a))
	if err != nil {
		return err
	}
	if err := remote.Push(ref, staged, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing %s: %w", ref, err)
	}
	return nil
}
