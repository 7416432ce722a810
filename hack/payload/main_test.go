package main

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fixture/registry"
)

// everyTag is a transport to one registry. For all others, it responds that every tag exists, without a connection.
type everyTag struct{ host string }

func (e everyTag) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == e.host {
		return http.DefaultTransport.RoundTrip(req)
	}
	header := http.Header{"Content-Type": {string(types.OCIManifestSchema1)}, "Docker-Content-Digest": {"sha256:" + strings.Repeat("a", 64)}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, ContentLength: 1, Body: http.NoBody, Request: req}, nil
}

// The shipped examples can be built, pushed and read again, and builds are reproducible.
func TestShippedDescriptions(t *testing.T) {
	reg, err := registry.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Stop() })
	releases := release.New(release.Options{Clock: clock.RealClock{}, Transport: everyTag{reg.Host}})
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			var image, digest bytes.Buffer
			if err := run(t.Context(), []string{"-pin=false", "-f", file, "-push", reg.Host + "/release:test"}, &image); err != nil {
				t.Fatal(err)
			}
			archive := filepath.Join(t.TempDir(), "release.tar")
			if err := run(t.Context(), []string{"-pin=false", "-f", file, "-tarball", archive}, &digest); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(image.String(), "@"+digest.String()) {
				t.Errorf("pushed %s, packed %s", image.String(), digest.String())
			}
			if info, err := os.Stat(archive); err != nil || info.Size() == 0 {
				t.Error(info, err)
			}
			rel, err := releases.Resolve(t.Context(), strings.TrimSpace(image.String()), nil)
			if err != nil {
				t.Fatal(err)
			}
			if line, known := release.LineOf(rel.Version); !known || !line.Supported() {
				t.Errorf("version %s cannot be hosted", rel.Version)
			}
			for _, component := range []string{
				"cluster-api", "cluster-api-provider-aws", "coredns", "etcd", "haproxy", "konnectivity-agent", "konnectivity-server",
				"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "pause",
			} {
				if rel.Components[component] == "" {
					t.Errorf("%s is missing", component)
				}
			}
		})
	}
}

func TestInvalidArgumentsAreReported(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("version: 1.36.3\nimages: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":          {nil, "say what with -f"},
		"no place":         {[]string{"-f", "kubernetes-1.36.3.yaml"}, "where to"},
		"no file":          {[]string{"-f", "none.yaml", "-tarball", "a"}, "none.yaml"},
		"an unknown field": {[]string{"-f", broken, "-tarball", "a"}, "images"},
		"an invalid name":  {[]string{"-pin=false", "-f", "kubernetes-1.36.3.yaml", "-push", "A B"}, "name to push to"},
	} {
		if err := run(t.Context(), c.args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestTagsArePinned(t *testing.T) {
	reg, err := registry.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Stop() })
	push := func(as string) string {
		image, err := random.Image(8, 1)
		if err != nil {
			t.Fatal(err)
		}
		tag, err := reg.PushImage(t.Context(), as, image)
		if err != nil {
			t.Fatal(err)
		}
		return tag
	}
	digest := func(tag string) string {
		digest, err := reg.Digest(t.Context(), tag)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	index, err := random.Index(8, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	several, err := reg.PushIndex(t.Context(), "haproxy:3", index)
	if err != nil {
		t.Fatal(err)
	}
	tagged, exact := push("etcd:3.6.8-0"), digest(push("pause:v1"))
	want := map[string]string{"etcd": digest(tagged), "pause": exact, "haproxy": digest(several)}
	describe := func(components map[string]string) string {
		text, err := yaml.Marshal(map[string]any{"version": "1.36.3", "components": components})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "description.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}

	file := describe(map[string]string{"etcd": tagged, "pause": exact, "haproxy": several})
	var image bytes.Buffer
	if err := run(t.Context(), []string{"-f", file, "-push", reg.Host + "/release:test"}, &image); err != nil {
		t.Fatal(err)
	}
	rel, err := release.New(release.Options{Clock: clock.RealClock{}}).Resolve(t.Context(), strings.TrimSpace(image.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(rel.Components, want) {
		t.Errorf("pinned %v, want %v", rel.Components, want)
	}
	// A digest has no version. The operator compares etcd's version with the running one.
	if rel.EtcdVersion != "3.6.8" || rel.KubernetesVersion != "1.36.3" {
		t.Errorf("etcd %q and Kubernetes %q", rel.EtcdVersion, rel.KubernetesVersion)
	}

	missing := describe(map[string]string{"etcd": tagged, "coredns": reg.Host + "/coredns:v1", "pause": reg.Host + "/pause:v2"})
	err = run(t.Context(), []string{"-f", missing, "-tarball", filepath.Join(t.TempDir(), "release.tar")}, &image)
	for _, want := range []string{"2 of 3 images", "component coredns", "component pause"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	}
}
