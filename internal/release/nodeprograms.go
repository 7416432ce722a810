package release

import (
	"bytes"
	"context"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const (
	// maxProgramLayers is the largest number that the API accepts.
	maxProgramLayers = 16
	// maxPrograms is several times the size of the programs of a node.
	maxPrograms = 1 << 30
)

// programsKey identifies an answer of NodePrograms.
type programsKey struct {
	question string
	arch     hyperv1.Architecture
}

// NodePrograms implements Resolver. It reads only manifests: machines fetch the layers.
func (r *Registry) NodePrograms(ctx context.Context, image string, arch hyperv1.Architecture, pullSecret []byte) (*hyperv1.NodePrograms, error) {
	return r.nodeProgramsFrom(ctx, image, image, arch, pullSecret)
}

func (r *Registry) nodeProgramsFrom(ctx context.Context, mirror, image string, arch hyperv1.Architecture, pullSecret []byte) (*hyperv1.NodePrograms, error) {
	q, err := r.question(mirror, pullSecret)
	if err != nil {
		return nil, explain(image, err)
	}
	key := programsKey{question: q.key, arch: arch}
	if cached, ok := r.programs.Get(key); ok {
		return cached.(*hyperv1.NodePrograms).DeepCopy(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	s, err := q.open(r.Transport)
	if err != nil {
		return nil, explain(image, err)
	}
	manifest, digest, err := s.imageFor(ctx, q.ref, arch)
	if err != nil {
		return nil, explain(image, err)
	}
	programs := &hyperv1.NodePrograms{Digest: digest, Repositories: []string{repositoryURL(s.repository)}}
	var size int64
	for _, layer := range manifest.Layers {
		if !strings.HasSuffix(string(layer.MediaType), "gzip") {
			return nil, explain(image, incomplete("its layers must be compressed with gzip, which every machine can unpack"))
		}
		size += layer.Size
		programs.Layers = append(programs.Layers, hyperv1.NodeProgramsLayer{Digest: layer.Digest.String(), Size: layer.Size})
	}
	if len(programs.Layers) == 0 || len(programs.Layers) > maxProgramLayers || size > maxPrograms {
		return nil, explain(image, incomplete("it must have 1 to 16 layers with 1 GiB together"))
	}
	if _, exact := q.ref.(name.Digest); exact {
		r.programs.Add(key, programs.DeepCopy())
	}
	return programs, nil
}

func incomplete(detail string) error { return &failure{kind: Incomplete, detail: detail} }

// imageFor returns the manifest of an image for an architecture, and its digest.
func (s *session) imageFor(ctx context.Context, ref name.Reference, arch hyperv1.Architecture) (*v1.Manifest, string, error) {
	desc, err := s.Get(ctx, ref)
	if err != nil {
		return nil, "", err
	}
	if desc.MediaType.IsIndex() {
		if desc, err = s.ofIndex(ctx, desc, arch); err != nil {
			return nil, "", err
		}
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(desc.Manifest))
	if err != nil {
		return nil, "", incomplete("its manifest cannot be read")
	}
	return manifest, desc.Digest.String(), nil
}

func (s *session) ofIndex(ctx context.Context, desc *remote.Descriptor, arch hyperv1.Architecture) (*remote.Descriptor, error) {
	index, err := v1.ParseIndexManifest(bytes.NewReader(desc.Manifest))
	if err != nil {
		return nil, incomplete("its index cannot be read")
	}
	for _, m := range index.Manifests {
		if m.MediaType.IsImage() && m.Platform != nil && m.Platform.OS == "linux" && m.Platform.Architecture == string(arch) {
			return s.Get(ctx, s.repository.Digest(m.Digest.String()))
		}
	}
	return nil, incomplete("it has no image for architecture " + string(arch))
}

// repositoryURL returns the URL of a repository in the protocol of registries.
func repositoryURL(r name.Repository) string {
	return r.Registry.Scheme() + "://" + r.RegistryStr() + "/v2/" + r.RepositoryStr()
}

// NodePrograms implements Resolver. It reads the manifest where machines fetch the layers: from the first mirror that has it, and
// from the source last.
func (m *mirrored) NodePrograms(ctx context.Context, image string, arch hyperv1.Architecture, pullSecret []byte) (*hyperv1.NodePrograms, error) {
	var repositories []string
	var programs *hyperv1.NodePrograms
	for _, mirror := range append(m.mirrors(image), image) {
		ref, err := name.ParseReference(mirror)
		if err != nil {
			return nil, explain(image, &failure{kind: InvalidReference, detail: "write it as registry/repository@sha256:…", err: err})
		}
		repositories = append(repositories, repositoryURL(ref.Context()))
		if programs != nil {
			continue
		}
		found, err := m.nodeProgramsFrom(ctx, mirror, image, arch, pullSecret)
		if err != nil && mirror == image {
			return nil, err
		}
		if err == nil {
			programs = found
			// An override of the installation may have replaced it.
			repositories[len(repositories)-1] = found.Repositories[0]
		}
	}
	programs.Repositories = repositories
	return programs, nil
}

func (m *mirrored) nodeProgramsFrom(ctx context.Context, mirror, image string, arch hyperv1.Architecture, pullSecret []byte) (*hyperv1.NodePrograms, error) {
	if registry, ok := m.resolver.(*Registry); ok {
		return registry.nodeProgramsFrom(ctx, mirror, image, arch, pullSecret)
	}
	return m.resolver.NodePrograms(ctx, mirror, arch, pullSecret)
}
