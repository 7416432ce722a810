package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/random"
	"sigs.k8s.io/yaml"
)

func TestInvalidArgumentsAreReported(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no version":              {nil, "-version"},
		"a version of two parts":  {[]string{"-version=1.2"}, "-version"},
		"a version with metadata": {[]string{"-version=1.2.3+abc"}, "-version"}, // a tag of an image cannot have it
		"no registry":             {[]string{"-version=1.2.3"}, "-registry"},
		"no signature":            {[]string{"-version=v1.2.3-rc.1", "-registry=registry.example.com/a"}, "a release is signed"},
	} {
		if err := run(t.Context(), tc.args, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestNotesAreTheSectionOfTheVersion(t *testing.T) {
	const changelog = "# Changelog\n\n## Unreleased\n\nnew\n\n## 0.10.0 (2027-01-02)\n\nten\n\n### Added\n\n- more\n\n## 0.1.0-alpha\n\nalpha\n\n## 0.1.0\n\none\n"
	for version, want := range map[string]string{
		"0.1.0": "one\n", "0.10.0": "ten\n\n### Added\n\n- more\n", "0.11.0-rc.1": "new\n",
	} {
		if got, err := section(changelog, version); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", version, got, err, want)
		}
	}
	if got, err := section(changelog, "0.1.1"); err == nil {
		t.Errorf("a version without a section has the notes %q", got)
	}
}

func TestLinksOfNotesAreAbsolute(t *testing.T) {
	got := absolute("see [Upgrade](docs/install.md#upgrade) and [Go](https://go.dev)", "abc")
	if want := "see [Upgrade](" + source + "/blob/abc/docs/install.md#upgrade) and [Go](https://go.dev)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEditedTextMustOccurOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	for text, edited := range map[string]bool{"tag: x\n": true, "tag: y\n": false, "tag: x\ntag: x\n": false} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := edit(file, "x\n", "z\n"); (err == nil) != edited {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestChartHasTheVersionAndTheDigest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chart")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "config", "helm", "hypershift"))); err != nil {
		t.Fatal(err)
	}
	if err := editChart(dir, "1.2.3", "registry.example.com/hypershift", "sha256:abc"); err != nil {
		t.Fatal(err)
	}
	var chart struct{ Version, AppVersion string }
	var values struct {
		Image struct{ Repository, Digest string }
	}
	for file, into := range map[string]any{"Chart.yaml": &chart, "values.yaml": &values} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if chart.Version != "1.2.3" || chart.AppVersion != "1.2.3" || values.Image.Repository != "registry.example.com/hypershift" || values.Image.Digest != "sha256:abc" {
		t.Errorf("the chart has %+v and %+v", chart, values)
	}
}

func TestTagsAreNotMoved(t *testing.T) {
	from, to := startTestRegistry(t), startTestRegistry(t)
	r := &release{registry: to.host + "/hosted"}
	stage := func() artifact {
		t.Helper()
		index, err := random.Index(64, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		a := artifact{what: "image", repository: "hypershift", tag: "0.1.0"}
		if err := from.push(t.Context(), &a, index); err != nil {
			t.Fatal(err)
		}
		return a
	}
	digest := func() string {
		a := artifact{repository: "hosted/hypershift", tag: "0.1.0"}
		if err := to.resolve(context.WithoutCancel(t.Context()), &a); err != nil {
			t.Fatal(err)
		}
		return a.digest
	}

	first := stage()
	if err := r.reserve(t.Context(), first); err != nil {
		t.Fatalf("a free tag is refused: %v", err)
	}
	if err := r.push(t.Context(), from, first); err != nil {
		t.Fatal(err)
	}
	if got := digest(); got != first.digest {
		t.Errorf("pushed %s, want %s", got, first.digest)
	}
	if err := r.reserve(t.Context(), first); err != nil {
		t.Errorf("a release that was interrupted cannot be repeated: %v", err)
	}
	if err := r.reserve(t.Context(), stage()); err == nil || !strings.Contains(err.Error(), "not replaced") {
		t.Errorf("the tag can be moved: %v", err)
	}
	to.stop()
	if err := r.reserve(t.Context(), first); err == nil {
		t.Error("a tag that cannot be read is taken for free")
	}
}

func startTestRegistry(t *testing.T) *staging {
	t.Helper()
	s, err := startStaging()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

func TestTwoScansOfAnImageAreEqual(t *testing.T) {
	r := &release{version: "0.1.0", registry: "registry.example.com/hosted", date: time.Unix(0, 0).UTC()}
	const digest = "sha256:abc"
	first, err := r.reproducible(`{"documentNamespace":"https://a/1","creationInfo":{"created":"x","creators":["Tool: syft"]},"name":"127.0.0.1:1/hypershift"}`, "127.0.0.1:1", digest)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.reproducible(`{"documentNamespace":"https://a/2","creationInfo":{"created":"y","creators":["Tool: syft"]},"name":"127.0.0.1:2/hypershift"}`, "127.0.0.1:2", digest)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("%v:\n%s\n%s", err, first, second)
	}
	if !bytes.Contains(first, []byte("Tool: syft")) || !bytes.Contains(first, []byte(digest)) {
		t.Errorf("the creators or the digest are missing: %s", first)
	}
	if _, err := r.reproducible(`{}`, "127.0.0.1:1", digest); err == nil {
		t.Error("what is no SBOM is accepted")
	}
}

func TestSumsOmitTheirSignature(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.tgz": "a", "b.json": "b", sums: "old", sums + ".sigstore.json": "signature"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, sums))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		got[name] = sum
	}
	want := map[string]string{ // sha256sum of "a" and of "b"
		"a.tgz":  "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
		"b.json": "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
