package main

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

var (
	platforms = []string{"linux/amd64", "linux/arm64"}
	// programs are the packages in the image. The first one is its entrypoint.
	programs = []string{"hypershift-operator", "control-plane-operator", "control-plane-operator/sidecar", "cmd/console"}
)

const (
	// koDir is the directory in which ko places a program.
	koDir = "/ko-app"
	// koConfig contains the flags of go build.
	koConfig = "hack/release/ko.yaml"
)

// stamp returns the variables of koConfig: the output of --version.
func (r *release) stamp() map[string]string {
	return map[string]string{"RELEASE_VERSION": r.version, "RELEASE_COMMIT": r.commit, "RELEASE_DATE": r.date.Format(time.RFC3339)}
}

// buildPrograms builds the programs with ko. It returns the layer of each, by platform, in the order of programs.
//
// ko makes an image with one program, and ours has several. Its images therefore have an empty base, and only their last layer is used:
// the program in koDir.
func (r *release) buildPrograms(ctx context.Context, s *staging) (map[string][]v1.Layer, error) {
	base := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			return nil, err
		}
		img, err := emptyImage(*p)
		if err != nil {
			return nil, err
		}
		base = mutate.AppendManifests(base, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	none := artifact{repository: "base", tag: "latest"}
	if err := s.push(ctx, &none, base); err != nil {
		return nil, err
	}
	args := []string{"build", "--base-import-paths", "--sbom=none", "--platform=" + strings.Join(platforms, ",")}
	for _, program := range programs {
		args = append(args, "./"+program)
	}
	env := []string{
		"KO_DOCKER_REPO=" + s.host, "KO_DEFAULTBASEIMAGE=" + s.named(none), "KO_CONFIG_PATH=" + filepath.Join(r.root, koConfig),
		// The commit is set by the linker. Recorded by Go, it would depend on the directory of the checkout.
		"GOFLAGS=-buildvcs=false",
	}
	for variable, value := range r.stamp() {
		env = append(env, variable+"="+value)
	}
	if _, err := r.outputWith(ctx, env, r.tools["ko"], args...); err != nil {
		return nil, err
	}
	layers := map[string][]v1.Layer{}
	for _, program := range programs {
		index, err := s.index(ctx, path.Base(program), "latest")
		if err != nil {
			return nil, err
		}
		images, err := byPlatform(index)
		if err != nil {
			return nil, err
		}
		for _, platform := range platforms {
			img, built := images[platform]
			if !built {
				return nil, fmt.Errorf("ko has not built %s for %s", program, platform)
			}
			all, err := img.Layers()
			if err != nil || len(all) == 0 {
				return nil, fmt.Errorf("reading the layers of %s for %s: %d, %w", program, platform, len(all), err)
			}
			layers[platform] = append(layers[platform], all[len(all)-1])
		}
	}
	return layers, nil
}

// byPlatform returns the images of an index.
func byPlatform(index v1.ImageIndex) (map[string]v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	images := map[string]v1.Image{}
	for _, desc := range manifest.Manifests {
		if images[desc.Platform.String()], err = index.Image(desc.Digest); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// emptyImage is an image in the format of OCI without layers.
func emptyImage(platform v1.Platform) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return mutate.ConfigFile(base, &v1.ConfigFile{OS: platform.OS, Architecture: platform.Architecture, RootFS: v1.RootFS{Type: "layers"}})
}
