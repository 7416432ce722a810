// Package fakerelease resolves releases without a registry, for tests of code that uses releases.
package fakerelease

import (
	"context"
	"maps"
	"strings"
	"sync"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Registry is a release.Resolver with the releases that tests put into it.
type Registry struct {
	mu       sync.Mutex
	releases map[string]*release.Release
	failures map[string]*release.Error
}

// New returns a Registry with these releases, by image.
func New(releases ...*release.Release) *Registry {
	r := &Registry{releases: map[string]*release.Release{}, failures: map[string]*release.Error{}}
	for _, rel := range releases {
		r.Put(rel)
	}
	return r
}

// Put adds a release, or replaces the one with the same image.
func (r *Registry) Put(rel *release.Release) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.releases[rel.Image] = rel
}

// Fail makes an image fail from now on; an empty kind ends that.
func (r *Registry) Fail(image string, kind release.Kind, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failures, image)
	if kind != "" {
		r.failures[image] = &release.Error{Kind: kind, Image: image, Detail: detail}
	}
}

// Resolve implements release.Resolver.
func (r *Registry) Resolve(_ context.Context, image string, _ []byte) (*release.Release, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if repository, digest, pinned := strings.Cut(image, "@"); pinned {
		for tag, rel := range r.releases {
			if strings.HasPrefix(tag, repository+":") && rel.Digest == digest {
				image = tag
			}
		}
	}
	if failure := r.failures[image]; failure != nil {
		return nil, failure
	}
	if rel := r.releases[image]; rel != nil {
		return rel, nil
	}
	return nil, &release.Error{Kind: release.NotFound, Image: image, Detail: "the registry answered 404 Not Found"}
}

// NodePrograms returns programs for an image with a digest, and fails for others.
func (r *Registry) NodePrograms(_ context.Context, image string, _ hyperv1.Architecture, _ []byte) (*hyperv1.NodePrograms, error) {
	_, digest, found := strings.Cut(image, "@")
	if !found {
		return nil, &release.Error{Kind: release.NotFound, Image: image, Detail: "the registry answered 404 Not Found"}
	}
	return &hyperv1.NodePrograms{
		Digest: digest, Repositories: []string{"https://example.test/v2/" + names.NodePrograms}, Layers: []hyperv1.NodeProgramsLayer{{Digest: digest, Size: 1 << 20}},
	}, nil
}

// Kubernetes is a release of plain Kubernetes with all required components and images in us-east-1; the image of a
// component contains its name.
func Kubernetes(image, version string) *release.Release {
	rel := &release.Release{
		Image: image, Digest: "sha256:" + version, Version: version, KubernetesVersion: version, Architecture: hyperv1.Multi,
		Components: map[string]string{},
		BootImages: map[hyperv1.Architecture]map[string]release.BootImage{
			hyperv1.ArchitectureAMD64: {"us-east-1": {AMI: "ami-amd64-" + version}},
			hyperv1.ArchitectureARM64: {"us-east-1": {AMI: "ami-arm64-" + version}},
		},
	}
	for _, name := range []string{"cluster-api", "cluster-api-provider-aws", "etcd", "konnectivity-server", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		rel.Components[name] = "example.test/" + name + ":" + version
	}
	return rel
}

// With is the same release with changes.
func With(rel *release.Release, change func(*release.Release)) *release.Release {
	other := *rel
	other.Components = maps.Clone(rel.Components)
	other.BootImages = maps.Clone(rel.BootImages)
	change(&other)
	return &other
}
