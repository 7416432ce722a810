//go:build release

// Package release_test makes a release, and then uses it as a stranger would: with the names that it prints and with its public key.
package release_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/mod/modfile"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/payload/versions"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/release/signature"
	"github.com/hosted-control-planes/hypershift/test/fixture/registry"
)

const version = "0.0.0-test.1"

// bed is a registry with a release.
type bed struct {
	root, dist, keys string
	registry         string // with the path of the release
	host             string
	tools            map[string]string
	images           []string // by digest, as images.txt lists them
}

func TestRelease(t *testing.T) {
	b := start(t)
	b.release(t)
	b.images = strings.Fields(b.read(t, "images.txt"))
	if want := 2 + len(versions.Kubernetes); len(b.images) != want {
		t.Fatalf("images.txt has %q, want %d images", b.images, want)
	}
	t.Run("the image has two platforms, labels and programs", b.testImage)
	t.Run("the SBOM lists the modules of go.mod", b.testSBOM)
	t.Run("everything is signed", b.testSignatures)
	t.Run("the chart installs the image", b.testChart)
	t.Run("the operator reads and verifies payloads", b.testPayloads)
	t.Run("the command line can be downloaded and run", b.testCommandLine)
	t.Run("checksums and notes", b.testFiles)
	t.Run("a repeated release is equal", func(t *testing.T) {
		sums := b.read(t, "SHA256SUMS")
		b.release(t) // fails if a digest differs from the tag's digest
		if again := b.read(t, "SHA256SUMS"); again != sums {
			t.Errorf("the checksums were\n%s and are\n%s", sums, again)
		}
	})
}

func start(t *testing.T) *bed {
	t.Helper()
	reg, err := registry.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Stop() })
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	tools, err := pinned.Ensure(t.Context(), t.Output(), "cosign", "helm")
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{root: root, dist: t.TempDir(), keys: t.TempDir(), registry: reg.Host + "/hosted", host: reg.Host, tools: tools}
	for _, key := range []string{"cosign", "other"} {
		b.run(t, tools["cosign"], "generate-key-pair", "--output-key-prefix="+filepath.Join(b.keys, key))
	}
	return b
}

// release makes the release. The payloads name components by tag, because other references cannot be resolved without the internet.
func (b *bed) release(t *testing.T) {
	t.Helper()
	b.run(t, "make", "release", "VERSION="+version, "REGISTRY="+b.registry, "KEY="+filepath.Join(b.keys, "cosign.key"),
		"RELEASE_FLAGS=-dirty -pin=false -output="+b.dist)
}

func (b *bed) key(name string) string { return "--key=" + filepath.Join(b.keys, name+".pub") }

func (b *bed) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := b.try(t, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// try runs a program without the credentials of the user.
func (b *bed) try(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "COSIGN_PASSWORD=", "DOCKER_CONFIG="+b.keys)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", errors.New(filepath.Base(program) + " " + strings.Join(args, " ") + ": " + err.Error() + "\n" + errs.String())
	}
	return out.String(), nil
}

func (b *bed) read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dist, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// image is the name of the operators' image by digest.
func (b *bed) image() string { return b.images[0] }

// platforms returns the image of the operators for each platform.
func (b *bed) platforms(t *testing.T) map[string]v1.Image {
	t.Helper()
	ref, err := name.NewDigest(b.image())
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if got := manifest.Annotations["org.opencontainers.image.version"]; got != version {
		t.Errorf("the index is annotated with version %q, want %s", got, version)
	}
	images := map[string]v1.Image{}
	for _, desc := range manifest.Manifests {
		if images[desc.Platform.String()], err = index.Image(desc.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return images
}

func (b *bed) testImage(t *testing.T) {
	commit := strings.TrimSpace(b.run(t, "git", "rev-parse", "HEAD"))
	machines := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	images := b.platforms(t)
	if len(images) != len(machines) {
		t.Errorf("the image has %d platforms, want %d", len(images), len(machines))
	}
	for platform, machine := range machines {
		img := images[platform]
		if img == nil {
			t.Fatalf("there is no image for %s", platform)
		}
		cfg, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		labels := cfg.Config.Labels
		if labels["org.opencontainers.image.version"] != version || !strings.HasPrefix(labels["org.opencontainers.image.revision"], commit) ||
			labels["org.opencontainers.image.source"] == "" || labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
			t.Errorf("%s has the labels %v", platform, labels)
		}
		if cfg.Config.User != "65532:65532" || !slices.Equal(cfg.Config.Entrypoint, []string{"/usr/bin/hypershift-operator"}) || cfg.OS+"/"+cfg.Architecture != platform {
			t.Errorf("%s has the configuration %+v", platform, cfg.Config)
		}
		dir := unpack(t, img)
		checkCAs(t, filepath.Join(dir, "etc/ssl/certs/ca-certificates.crt"))
		for _, program := range []string{"hypershift-operator", "control-plane-operator", "sidecar", "console"} {
			link, err := os.Readlink(filepath.Join(dir, "usr/bin", program))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, link)
			f, err := elf.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			if _ = f.Close(); f.Machine != machine || f.Section(".interp") != nil {
				t.Errorf("%s for %s is for %s, and is linked dynamically: %v", program, platform, f.Machine, f.Section(".interp") != nil)
			}
			if platform != runtime.GOOS+"/"+runtime.GOARCH {
				continue
			}
			got := b.run(t, file, "--version")
			for _, want := range []string{program + " " + version + " (", "commit " + commit, ", date 20", runtime.Version(), platform} {
				if !strings.Contains(got, want) {
					t.Errorf("%s --version prints %q, without %q", program, got, want)
				}
			}
		}
	}
}

// unpack unpacks an image into a directory.
func unpack(t *testing.T, img v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	content := mutate.Extract(img)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, filepath.Clean("/"+h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(at, 0o755)
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, at)
		case tar.TypeReg:
			if err = os.MkdirAll(filepath.Dir(at), 0o755); err == nil {
				err = writeFile(at, r, os.FileMode(h.Mode))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func writeFile(path string, content io.Reader, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// checkCAs checks that the programs can call AWS.
func checkCAs(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	amazon := 0
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(ca.Subject.Organization, []string{"Amazon"}) {
			amazon++
		}
	}
	if amazon == 0 {
		t.Error("the image does not trust the CAs of Amazon")
	}
}

func (b *bed) testSBOM(t *testing.T) {
	for platform, img := range b.platforms(t) {
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		ref := b.registry + "/hypershift@" + digest.String()
		out := b.run(t, b.tools["cosign"], "verify-attestation", b.key("cosign"), "--insecure-ignore-tlog", "--type=spdxjson", ref)
		var envelope struct{ Payload string }
		if err := json.Unmarshal([]byte(out), &envelope); err != nil {
			t.Fatal(err)
		}
		statement, err := base64.StdEncoding.DecodeString(envelope.Payload)
		if err != nil {
			t.Fatal(err)
		}
		var attested struct{ Predicate sbom }
		if err := json.Unmarshal(statement, &attested); err != nil {
			t.Fatal(err)
		}
		b.checkModules(t, "the image for "+platform, attested.Predicate)
	}
}

type sbom struct {
	Packages []struct{ Name, VersionInfo string }
}

// checkModules checks that an SBOM lists modules with the versions of go.mod, and the version of Go.
func (b *bed) checkModules(t *testing.T, what string, described sbom) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(b.root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"stdlib": runtime.Version()}
	for _, r := range parsed.Require {
		want[r.Mod.Path] = r.Mod.Version
	}
	found := map[string]string{}
	for _, p := range described.Packages {
		found[p.Name] = p.VersionInfo
	}
	for _, module := range []string{"k8s.io/apimachinery", "sigs.k8s.io/controller-runtime", "github.com/aws/aws-sdk-go-v2/service/ec2", "stdlib"} {
		if want[module] == "" || found[module] != want[module] {
			t.Errorf("the SBOM of %s has %s %q, want %q", what, module, found[module], want[module])
		}
	}
}

func (b *bed) testSignatures(t *testing.T) {
	all := slices.Clone(b.images)
	for _, img := range b.platforms(t) {
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b.registry+"/hypershift@"+digest.String())
	}
	for _, image := range all {
		b.run(t, b.tools["cosign"], "verify", b.key("cosign"), "--insecure-ignore-tlog", image)
		if _, err := b.try(t, b.tools["cosign"], "verify", b.key("other"), "--insecure-ignore-tlog", image); err == nil {
			t.Errorf("%s is accepted with another key", image)
		}
	}
}

func (b *bed) testChart(t *testing.T) {
	out := b.run(t, b.tools["helm"], "template", "hypershift", "oci://"+b.registry+"/charts/hypershift", "--version="+version, "--plain-http")
	found := false
	for manifest := range strings.SplitSeq(out, "\n---\n") {
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(manifest), &d); err != nil {
			t.Fatal(err)
		}
		if d.Kind != "Deployment" || d.Name != "hypershift-operator" {
			continue
		}
		found = true
		c := d.Spec.Template.Spec.Containers[0]
		if c.Image != b.image() || !slices.Contains(c.Args, "--control-plane-operator-image="+b.image()) {
			t.Errorf("the chart installs %s with %q, want %s", c.Image, c.Args, b.image())
		}
	}
	if !found {
		t.Errorf("the chart has no hypershift-operator: %.500s", out)
	}
	for _, name := range []string{"hypershift", "hypershift-crds"} {
		shown := b.run(t, b.tools["helm"], "show", "chart", "oci://"+b.registry+"/charts/"+name, "--version="+version, "--plain-http")
		var chart struct{ Version, AppVersion string }
		if err := yaml.Unmarshal([]byte(shown), &chart); err != nil || chart.Version != version || chart.AppVersion != version {
			t.Errorf("the chart %s is %+v, %v", name, chart, err)
		}
	}
}

// everyTag is a transport to one registry. For all others, which have the images of components, it responds that every tag exists.
type everyTag struct{ host string }

func (e everyTag) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == e.host {
		return http.DefaultTransport.RoundTrip(req)
	}
	header := http.Header{"Content-Type": {string(types.OCIManifestSchema1)}, "Docker-Content-Digest": {"sha256:" + strings.Repeat("a", 64)}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, ContentLength: 1, Body: http.NoBody, Request: req}, nil
}

func (b *bed) testPayloads(t *testing.T) {
	keys := func(name string) []crypto.PublicKey {
		text, err := os.ReadFile(filepath.Join(b.keys, name+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		keys, err := signature.ParseKeys(text)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	for i, kubernetes := range versions.Kubernetes {
		tag := b.registry + "/kubernetes-release:v" + kubernetes + "-" + version
		releases := release.New(release.Options{Clock: clock.RealClock{}, Transport: everyTag{b.host}, Policy: release.Policy{Keys: keys("cosign")}})
		rel, err := releases.Resolve(t.Context(), tag, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rel.Version != kubernetes || len(rel.Components) != len(versions.Components) {
			t.Errorf("the payload is of version %s with %d components, want %s with %d", rel.Version, len(rel.Components), kubernetes, len(versions.Components))
		}
		if listed := b.images[2+i]; !strings.Contains(listed, "/kubernetes-release@sha256:") {
			t.Errorf("images.txt has %s at the place of %s", listed, tag)
		}
		releases = release.New(release.Options{Clock: clock.RealClock{}, Transport: everyTag{b.host}, Policy: release.Policy{Keys: keys("other")}})
		if _, err := releases.Resolve(t.Context(), tag, nil); err == nil || !strings.Contains(err.Error(), "sign") {
			t.Errorf("with another key, %s is read with %v", tag, err)
		}
	}
}

// testCommandLine downloads and unpacks the archives as docs/cli.md describes, and runs the program for this machine.
func (b *bed) testCommandLine(t *testing.T) {
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"} {
		prefix, name, suffix := t.TempDir(), "hypershift-cli-"+version+"-"+strings.ReplaceAll(platform, "/", "-"), ""
		if strings.HasPrefix(platform, "windows/") {
			suffix = ".exe"
			content, err := zip.OpenReader(filepath.Join(b.dist, name+".zip"))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.CopyFS(prefix, content), content.Close()); err != nil {
				t.Fatal(err)
			}
		} else {
			b.download(t, name+".tar.gz", prefix)
		}
		for _, file := range []string{
			"share/bash-completion/completions/hypershift", "share/bash-completion/completions/hcp", "share/zsh/site-functions/_hypershift",
			"share/fish/vendor_completions.d/hypershift.fish", "share/powershell/hypershift.ps1", "share/doc/hypershift/LICENSE",
		} {
			if info, err := os.Stat(filepath.Join(prefix, file)); err != nil || info.Size() == 0 {
				t.Errorf("the archive for %s has no %s: %v", platform, file, err)
			}
		}
		page, err := os.ReadFile(filepath.Join(prefix, "share/man/man1/hypershift-create-cluster-aws.1"))
		if err != nil || !bytes.Contains(page, []byte(strings.ReplaceAll(version, "-", `\-`))) {
			t.Errorf("the manual for %s has no page of this version: %v", platform, err)
		}
		hypershift, hcp := filepath.Join(prefix, "bin/hypershift"+suffix), filepath.Join(prefix, "bin/hcp"+suffix)
		for _, program := range []string{hypershift, hcp} {
			if got := platformOf(program); got != platform {
				t.Errorf("%s for %s is for %s", filepath.Base(program), platform, got)
			}
		}
		var described sbom
		if err := json.Unmarshal([]byte(b.read(t, name+".spdx.json")), &described); err != nil {
			t.Fatal(err)
		}
		b.checkModules(t, "the command line for "+platform, described)
		if platform != runtime.GOOS+"/"+runtime.GOARCH {
			continue
		}
		commit := strings.TrimSpace(b.run(t, "git", "rev-parse", "HEAD"))
		got := b.run(t, hypershift, "version")
		for _, want := range []string{"hypershift " + version + " (", "commit " + commit, ", date 20", runtime.Version(), platform} {
			if !strings.Contains(got, want) {
				t.Errorf("hypershift version prints %q, without %q", got, want)
			}
		}
		if got := b.run(t, hcp, "help"); !strings.Contains(got, "  hcp [command]") {
			t.Errorf("hcp help prints\n%s", got)
		}
	}
}

// download verifies an archive with the checksums, and unpacks it.
func (b *bed) download(t *testing.T, archive, prefix string) {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{archive, "SHA256SUMS"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(b.read(t, file)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const verify = `cd "$1" && sha256sum --check --ignore-missing SHA256SUMS`
	b.run(t, "sh", "-euc", verify+` && tar -xzf "$2" -C "$3"`, "sh", dir, archive, prefix)
	if err := os.WriteFile(filepath.Join(dir, archive), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := b.try(t, "sh", "-euc", verify, "sh", dir); err == nil {
		t.Errorf("the checksums accept another %s", archive)
	}
}

// platformOf returns the system and the architecture in the header of a program.
func platformOf(program string) string {
	if f, err := elf.Open(program); err == nil {
		defer func() { _ = f.Close() }() // it was only read
		return "linux/" + map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine]
	}
	if f, err := macho.Open(program); err == nil {
		defer func() { _ = f.Close() }() // it was only read
		return "darwin/" + map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu]
	}
	if f, err := pe.Open(program); err == nil {
		defer func() { _ = f.Close() }() // it was only read
		return "windows/" + map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64"}[f.Machine]
	}
	return "an unknown system"
}

func (b *bed) testFiles(t *testing.T) {
	listed := map[string]bool{}
	for line := range strings.Lines(b.read(t, "SHA256SUMS")) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		digest := sha256.Sum256([]byte(b.read(t, file)))
		if hex.EncodeToString(digest[:]) != sum {
			t.Errorf("the checksum of %s is wrong", file)
		}
		listed[file] = true
	}
	for _, file := range []string{
		"hypershift-" + version + ".tgz", "hypershift-" + version + "-linux-amd64.spdx.json", "hypershift-" + version + "-linux-arm64.spdx.json",
		"hypershift-cli-" + version + "-windows-amd64.zip", "hypershift-cli-" + version + "-darwin-arm64.tar.gz",
		"hypershift-cli-" + version + "-darwin-arm64.spdx.json", "images.txt", "release-notes.md",
	} {
		if !listed[file] {
			t.Errorf("SHA256SUMS does not list %s", file)
		}
	}
	sums := filepath.Join(b.dist, "SHA256SUMS")
	b.run(t, b.tools["cosign"], "verify-blob", b.key("cosign"), "--insecure-ignore-tlog", "--bundle="+sums+".sigstore.json", sums)
	notes := b.read(t, "release-notes.md")
	for _, want := range append(slices.Clone(b.images), "## Install", "PrivateLink") {
		if _, digest, _ := strings.Cut(want, "@"); !strings.Contains(notes, want) && (digest == "" || !strings.Contains(notes, digest)) {
			t.Errorf("the notes do not have %s", want)
		}
	}
}
