package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// entry is a file in a layer; with a link instead of a content it is a link.
type entry struct{ name, content, link string }

func layer(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Size: int64(len(e.content)), Linkname: e.link}
		if e.link != "" {
			h.Typeflag = tar.TypeSymlink
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTheNewestLayerTakesPrecedence(t *testing.T) {
	const refs, boot = "release-manifests/image-references", "release-manifests/0000_50_coreos-bootimages.yaml"
	for name, c := range map[string]struct {
		layers     [][]entry // the newest first
		refs, boot string
		complete   bool
	}{
		"both files in one layer": {[][]entry{{{name: refs, content: "r"}, {name: boot, content: "b"}}}, "r", "b", true},
		"the newest wins": {
			[][]entry{{{name: refs, content: "new"}}, {{name: refs, content: "old"}, {name: boot, content: "b"}}}, "new", "b", true,
		},
		"in one layer the last wins":          {[][]entry{{{name: refs, content: "1"}, {name: refs, content: "2"}}}, "2", "", false},
		"names as other tools write them":     {[][]entry{{{name: "./" + refs, content: "r"}, {name: "/" + boot, content: "b"}}}, "r", "b", true},
		"a deleted file is gone":              {[][]entry{{{name: "release-manifests/.wh.image-references"}}, {{name: refs, content: "old"}}}, "", "", false},
		"a deleted list of boot images, too":  {[][]entry{{{name: "release-manifests/.wh.0000_50_coreos-bootimages.yaml"}, {name: refs, content: "r"}}}, "r", "", true},
		"a deleted folder":                    {[][]entry{{{name: ".wh.release-manifests"}}, {{name: refs, content: "old"}, {name: boot, content: "old"}}}, "", "", true},
		"a folder that was emptied and used":  {[][]entry{{{name: "release-manifests/.wh..wh..opq"}, {name: refs, content: "new"}}, {{name: boot, content: "old"}}}, "new", "", true},
		"an image that was emptied":           {[][]entry{{{name: ".wh..wh..opq"}}, {{name: refs, content: "old"}}}, "", "", true},
		"the same names elsewhere":            {[][]entry{{{name: "other/" + refs, content: "r"}, {name: "coreos-bootimages.yaml", content: "b"}}}, "", "", false},
		"a link leads nowhere":                {[][]entry{{{name: refs, link: "/etc/passwd"}}}, "", "", false},
		"a way out of the archive is no way":  {[][]entry{{{name: "../../" + refs, content: "r"}}}, "r", "", false},
		"an empty file is a file":             {[][]entry{{{name: refs}}, {{name: refs, content: "old"}}}, "", "", false},
		"nothing":                             {[][]entry{{}}, "", "", false},
		"a deletion of something else is not": {[][]entry{{{name: "release-manifests/.wh.other"}}, {{name: refs, content: "r"}}}, "r", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			found := &files{}
			for _, entries := range c.layers {
				if err := found.add(bytes.NewReader(layer(t, entries...))); err != nil {
					t.Fatal(err)
				}
			}
			if got := string(found.content[references]); got != c.refs {
				t.Errorf("references %q, want %q", got, c.refs)
			}
			if got := string(found.content[bootImages]); got != c.boot {
				t.Errorf("boot images %q, want %q", got, c.boot)
			}
			if found.complete() != c.complete {
				t.Errorf("complete is %t", found.complete())
			}
		})
	}
}

func TestLayersOfEveryCompressionAreRead(t *testing.T) {
	plain := layer(t, entry{name: referencesFile, content: "r"})
	var zipped, packed bytes.Buffer
	g := gzip.NewWriter(&zipped)
	z, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{g, z} {
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range map[string][]byte{"none": plain, "gzip": zipped.Bytes(), "zstd": packed.Bytes()} {
		found, rest := &files{}, bytes.NewReader(body)
		if err := found.add(rest); err != nil || string(found.content[references]) != "r" {
			t.Errorf("%s: %q %v", name, found.content[references], err)
		}
		// The digest is checked only when all is read.
		if rest.Len() != 0 {
			t.Errorf("%s: %d bytes were not read", name, rest.Len())
		}
	}
}

// zeros is an endless archive.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestTooLargePayloadsAreRefused(t *testing.T) {
	bomb := func(unpacked int64) error {
		found := &files{unpacked: maxUnpacked - unpacked}
		return found.add(io.MultiReader(bytes.NewReader(layer(t, entry{name: "a", content: "b"})), zeros{}))
	}
	if kind := explain("", bomb(1<<20)).Kind; kind != NotRelease {
		t.Errorf("an endless layer: %s", kind)
	}
	header := layer(t, entry{name: referencesFile, content: string(make([]byte, maxFile+1))})
	if kind := explain("", (&files{}).add(bytes.NewReader(header))).Kind; kind != NotRelease {
		t.Errorf("an endless file: %s", kind)
	}
}

func FuzzLayers(f *testing.F) {
	f.Add(layer(f, entry{name: referencesFile, content: "r"}))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		found := &files{unpacked: maxUnpacked - 1<<20}
		if err := found.add(bytes.NewReader(body)); err != nil && found.complete() {
			t.Error("a layer that cannot be read says something")
		}
	})
}
