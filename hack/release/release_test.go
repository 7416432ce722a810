package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"sigs.k8s.io/yaml"
)

func TestInvalidArgumentsAreReported(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no version":               {nil, "-version"},
		"a version of two parts":   {[]string{"-version=1.2"}, "-version"},
		"a version with metadata":  {[]string{"-version=1.2.3+abc"}, "-version"}, // a tag of an image cannot have it
		"no registry":              {[]string{"-version=1.2.3"}, "-registry"},
		"no signature":             {[]string{"-version=v1.2.3-rc.1", "-registry=registry.example.com/a"}, "a release is signed"},
		"a bundle that is missing": {[]string{"-version=v1.2.3-rc.1", "-registry=registry.example.com/a", "-key=k", "-bundle=/none.tar.zst"}, "`make bundle` writes it"},
	} {
		if err := run(t.Context(), tc.args, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestBundleIsAFileOfTheRelease(t *testing.T) {
	r := &release{version: "1.2.3", dist: t.TempDir(), bundle: filepath.Join(t.TempDir(), "lab.tar.zst"), progress: io.Discard}
	const sum = "fdebae303877a39952669a2fa659305112390cb6da303a6b8f4f82849eda21dd"
	for file, text := range map[string]string{r.bundle: "programs", r.bundle + ".sha256": sum + "  lab.tar.zst\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.checkBundle(), r.labBundle()); err != nil {
		t.Fatal(err)
	}
	name := "hypershift-lab-1.2.3-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.zst"
	for file, want := range map[string]string{name: "programs", name + ".sha256": sum + "  " + name + "\n"} {
		if got, err := os.ReadFile(filepath.Join(r.dist, file)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", file, got, err, want)
		}
	}
	if err := os.WriteFile(r.bundle, []byte("others"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.labBundle(); err == nil || !strings.Contains(err.Error(), "`make bundle` again") {
		t.Errorf("another bundle than the checksum's: %v", err)
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
	if err := errors.Join(setVersion(dir, "1.2.3"), setImage(dir, "registry.example.com/hypershift", "sha256:abc")); err != nil {
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

// Programs of all platforms and of the image have the same flags, and print the same version.
func TestCommandLineIsBuiltWithTheFlagsOfTheImage(t *testing.T) {
	r := &release{root: filepath.Join("..", ".."), version: "1.2.3", commit: "abc", date: time.Unix(0, 0).UTC()}
	flags, err := r.buildFlags()
	if err != nil {
		t.Fatal(err)
	}
	const stamp = " -X github.com/hosted-control-planes/hypershift/internal/version."
	want := []string{"-tags=grpcnotrace", "-trimpath", "-buildvcs=false", "-ldflags=-s -w" + stamp + "version=1.2.3" + stamp + "commit=abc" + stamp + "date=1970-01-01T00:00:00Z"}
	if diff := cmp.Diff(want, flags); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// unpacked describes the entries of an archive in their order: name, mode, time, and content or target.
func unpacked(t *testing.T, archive []byte) []string {
	t.Helper()
	describe := func(name string, mode os.FileMode, at time.Time, content io.Reader, link string) string {
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join([]string{name, mode.String(), at.UTC().Format(time.DateTime), string(text) + link}, " ")
	}
	var found []string
	if z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive))); err == nil {
		for _, f := range z.File {
			content, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, describe(f.Name, f.Mode(), f.Modified, content, ""))
		}
		return found
	}
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(compressed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, describe(h.Name, h.FileInfo().Mode(), h.ModTime, r, h.Linkname))
	}
}

func TestArchivesHaveTheProgramUnderBothNames(t *testing.T) {
	for platform, want := range map[string][]string{
		"linux/amd64": {
			"bin/hcp Lrwxrwxrwx 2030-01-02 03:04:05 hypershift",
			"bin/hypershift -rwxr-xr-x 2030-01-02 03:04:05 program",
			"share/man/man1/hypershift.1 -rw-r--r-- 2030-01-02 03:04:05 page",
		},
		"windows/amd64": {
			"bin/hcp.exe -rwxr-xr-x 2030-01-02 03:04:05 program",
			"bin/hypershift.exe -rwxr-xr-x 2030-01-02 03:04:05 program",
			"share/man/man1/hypershift.1 -rw-r--r-- 2030-01-02 03:04:05 page",
		},
	} {
		r := &release{dist: t.TempDir(), version: "1.2.3", date: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
		files := append(programFiles(platform, []byte("program")), file{name: "share/man/man1/hypershift.1", mode: 0o644, content: []byte("page")})
		write := func() []byte {
			t.Helper()
			if err := r.archive(platform, files); err != nil {
				t.Fatal(err)
			}
			written, err := filepath.Glob(filepath.Join(r.dist, "hypershift-cli-1.2.3-"+strings.ReplaceAll(platform, "/", "-")+".*"))
			if err != nil || len(written) != 1 {
				t.Fatalf("%s: %v, %v", platform, written, err)
			}
			archive, err := os.ReadFile(written[0])
			if err != nil {
				t.Fatal(err)
			}
			return archive
		}
		first := write()
		if diff := cmp.Diff(want, unpacked(t, first)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", platform, diff)
		}
		slices.Reverse(files)
		if again := write(); !bytes.Equal(first, again) {
			t.Errorf("%s: two archives of the same files differ", platform)
		}
	}
}

// A release compiles the command line for all platforms. This test compiles only its packages with platform-specific files.
func TestPackagesWithFilesForOneSystemCompileForAll(t *testing.T) {
	seen := map[string]bool{}
	for _, platform := range commandLinePlatforms {
		system, _, _ := strings.Cut(platform, "/")
		if seen[system] {
			continue
		}
		seen[system] = true
		tool := func(args ...string) string {
			t.Helper()
			c := exec.CommandContext(t.Context(), "go", args...)
			c.Dir = filepath.Join("..", "..")
			c.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
			var out, errs bytes.Buffer
			c.Stdout, c.Stderr = &out, &errs
			if err := c.Run(); err != nil {
				t.Fatalf("on %s: go %s: %v\n%s", system, strings.Join(args, " "), err, errs.String())
			}
			return out.String()
		}
		packages := strings.Fields(tool("list", "-deps", "-f", "{{if .Module}}{{if and .Module.Main .IgnoredGoFiles}}{{.ImportPath}}{{end}}{{end}}", "./cmd/hypershift"))
		if !slices.Contains(packages, "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph") {
			t.Errorf("on %s, the packages with such files are %v", system, packages)
		}
		tool(append([]string{"build"}, packages...)...)
	}
}
