package images

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// program writes a file to be packed.
func program(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func layerOf(t *testing.T, s shelf, files ...file) v1.Layer {
	t.Helper()
	layer, err := s.layer(t.Context(), files, types.OCILayerZStd)
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

func digest(t *testing.T, layer v1.Layer) string {
	t.Helper()
	digest, err := layer.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func TestLayerDependsOnlyOnItsContent(t *testing.T) {
	source := program(t, "one")
	a := file{path: "/bin/a", source: source, mode: 0o755}
	b := file{path: "/bin/b", link: "a", mode: 0o777}
	want := digest(t, layerOf(t, shelf{t.TempDir()}, a, b))

	touched := a
	touched.source = program(t, "one")
	if err := os.Chtimes(touched.source, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if got := digest(t, layerOf(t, shelf{t.TempDir()}, b, touched)); got != want {
		t.Errorf("the same content in another order, from other paths and times, is %s, not %s", got, want)
	}
	for sentence, other := range map[string]file{
		"other content":     {path: a.path, source: program(t, "two"), mode: a.mode},
		"another path":      {path: "/bin/c", source: source, mode: a.mode},
		"another mode":      {path: a.path, source: source, mode: 0o644},
		"a link for a file": {path: a.path, link: "b", mode: a.mode},
	} {
		if digest(t, layerOf(t, shelf{t.TempDir()}, other, b)) == want {
			t.Errorf("%s gives the same layer", sentence)
		}
	}
}

func TestLayerContainsItsFiles(t *testing.T) {
	layer := layerOf(t, shelf{t.TempDir()},
		file{path: "/usr/bin/program", source: program(t, "content"), mode: 0o755}, file{path: "/bin/link", link: "../usr/bin/program", mode: 0o777})
	plain, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	var got []string
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, header.FileInfo().Mode().String()+" "+header.Name+" "+header.Linkname+string(content))
	}
	if want := []string{"Lrwxrwxrwx bin/link ../usr/bin/program", "-rwxr-xr-x usr/bin/program content"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// Clients trust the DiffID that is stored with a layer.
	id, err := layer.DiffID()
	if err != nil {
		t.Fatal(err)
	}
	again, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if sum, _, err := v1.SHA256(again); err != nil || sum != id {
		t.Errorf("the layer unpacks to %s (%v), but its DiffID is %s", sum, err, id)
	}
}

func TestLayerIsPackedOnce(t *testing.T) {
	s := shelf{t.TempDir()}
	f := file{path: "/a", source: program(t, "content"), mode: 0o755}
	first, err := layerOf(t, s, f).Digest()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.Stat(s.blob(first))
	if err != nil {
		t.Fatal(err)
	}
	layerOf(t, s, f)
	if again, err := os.Stat(s.blob(first)); err != nil || !os.SameFile(whole, again) {
		t.Errorf("the layer was packed again (%v)", err)
	}
	if err := os.Truncate(s.blob(first), 1); err != nil {
		t.Fatal(err)
	}
	layerOf(t, s, f)
	if again, err := os.Stat(s.blob(first)); err != nil || again.Size() != whole.Size() {
		t.Errorf("a corrupt layer was not packed again (%v)", err)
	}
}

func TestUnusedLayersAreRemoved(t *testing.T) {
	s := shelf{t.TempDir()}
	used := file{path: "/used", source: program(t, "used"), mode: 0o755}
	old := file{path: "/old", source: program(t, "old"), mode: 0o755}
	kept, gone := digest(t, layerOf(t, s, used)), digest(t, layerOf(t, s, old))
	long := time.Unix(1, 0)
	for _, pattern := range []string{"sha256/*", "layers/*"} {
		paths, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil || len(paths) != 2 {
			t.Fatal(paths, err)
		}
		for _, path := range paths {
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	layerOf(t, s, used)
	s.clear(long.Add(time.Hour))
	for _, dir := range []string{"sha256", "layers"} {
		left, err := os.ReadDir(filepath.Join(s.dir, dir))
		if err != nil || len(left) != 1 {
			t.Errorf("left in %s: %v, %v", dir, left, err)
		}
	}
	if digest(t, layerOf(t, s, used)) != kept || digest(t, layerOf(t, s, old)) != gone {
		t.Error("the layers changed after the cache was cleared")
	}
}

// A container runtime sets the extended attribute of a record with this name.
func TestLayerHasFileCapabilities(t *testing.T) {
	value := []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	s := shelf{t.TempDir()}
	plain := file{path: "/bin/a", source: program(t, "one"), mode: 0o755}
	capable := plain
	capable.capabilities = value
	if digest(t, layerOf(t, s, plain)) == digest(t, layerOf(t, s, capable)) {
		t.Error("the cache returns the layer of a program without file capabilities")
	}
	content, err := layerOf(t, s, capable).Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	header, err := tar.NewReader(content).Next()
	if err != nil {
		t.Fatal(err)
	}
	if got := header.PAXRecords["SCHILY.xattr.security.capability"]; got != string(value) {
		t.Errorf("the record is %x, want %x", got, value)
	}
}
