package release_test

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// programs pushes an index with an image for amd64 of two layers, and returns its name by digest and the image.
func (e *fakeRegistry) programs(t *testing.T, as string) (string, v1.Image) {
	t.Helper()
	image, err := random.Image(64, 2)
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
	byDigest, err := e.Digest(t.Context(), e.pushIndex(t, as, index))
	if err != nil {
		t.Fatal(err)
	}
	return byDigest, image
}

func TestNodeProgramsAreTheLayersForAnArchitecture(t *testing.T) {
	e := newFakeRegistry(t)
	ref, image := e.programs(t, "releases/node-programs:v1")
	got, err := e.releases.NodePrograms(t.Context(), ref, hyperv1.ArchitectureAMD64, nil)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != digest.String() || len(got.Layers) != 2 || got.Layers[1].Digest != manifest.Layers[1].Digest.String() || got.Layers[1].Size != manifest.Layers[1].Size {
		t.Errorf("got %+v, want %s of %+v", got, digest, manifest.Layers)
	}
	if want := "http://" + e.Host + "/v2/releases/node-programs"; len(got.Repositories) != 1 || got.Repositories[0] != want {
		t.Errorf("fetched from %q, want %s", got.Repositories, want)
	}
	_, err = e.releases.NodePrograms(t.Context(), ref, hyperv1.ArchitectureARM64, nil)
	if release.KindOf(err) != release.Incomplete || !strings.Contains(err.Error(), "no image for architecture arm64") {
		t.Errorf("another architecture: %v", err)
	}
}

func TestMachinesFetchProgramsFromMirrorsFirst(t *testing.T) {
	e := newFakeRegistry(t)
	ref, _ := e.programs(t, "mirror/node-programs:v1")
	_, digest, _ := strings.Cut(ref, "@")
	sources := []hyperv1.ImageContentSource{{Source: "127.0.0.1:1/releases", Mirrors: []string{e.Host + "/none", e.Host + "/mirror"}}}
	got, err := release.From(sources, e.releases).NodePrograms(t.Context(), "127.0.0.1:1/releases/node-programs@"+digest, hyperv1.ArchitectureAMD64, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"http://" + e.Host + "/v2/none/node-programs", "http://" + e.Host + "/v2/mirror/node-programs", "http://127.0.0.1:1/v2/releases/node-programs"}
	if strings.Join(got.Repositories, " ") != strings.Join(want, " ") {
		t.Errorf("fetched from %q, want %q", got.Repositories, want)
	}
}

func TestProgramsThatMachinesCannotUnpackAreRefused(t *testing.T) {
	e := newFakeRegistry(t)
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer([]byte("x"), types.OCILayerZStd))
	if err != nil {
		t.Fatal(err)
	}
	ref := e.pushImage(t, "releases/node-programs:v1", image)
	if _, err := e.releases.NodePrograms(t.Context(), ref, hyperv1.ArchitectureAMD64, nil); release.KindOf(err) != release.Incomplete || !strings.Contains(err.Error(), "gzip") {
		t.Errorf("got %v", err)
	}
}
