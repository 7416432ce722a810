package release

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// openShift is a part of the output of `oc adm release new`.
const openShift = `{
  "kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
  "metadata": {"name": "4.21.3", "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {"release.openshift.io/from-image-stream": "ocp/4.21"}},
  "spec": {"lookupPolicy": {"local": false}, "tags": [
    {"name": "machine-os", "annotations": {"io.openshift.build.versions": "machine-os=9.6.2"}, "from": {"kind": "DockerImage", "name": "quay.io/ocp/art@sha256:` + zeros64 + `"}},
    {"name": "hyperkube", "annotations": {"io.openshift.build.versions": "kubernetes=1.34.2"}, "from": {"kind": "DockerImage", "name": "quay.io/ocp/art@sha256:` + zeros64 + `"}, "importPolicy": {}}
  ]}, "status": {"dockerImageRepository": ""}}`

const zeros64 = "0000000000000000000000000000000000000000000000000000000000000000"

func TestDecodeReferences(t *testing.T) {
	got, err := decodeReferences([]byte(openShift))
	if err != nil {
		t.Fatal(err)
	}
	image := "quay.io/ocp/art@sha256:" + zeros64
	want := &Release{Version: "4.21.3", KubernetesVersion: "1.34.2", Components: map[string]string{"machine-os": image, "hyperkube": image}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
}

func TestDecodeBootImages(t *testing.T) {
	const stream = `{"stream": "rhcos-4.21", "metadata": {}, "architectures": {
	  "x86_64": {"artifacts": {"aws": {}}, "images": {"aws": {"regions": {"us-east-1": {"release": "9.6", "image": "ami-a"}, "eu-west-1": {"image": ""}, "eu-north-1": {"image": "ami-n", "userDataFormat": "cloud-config", "rootDevice": "/dev/sda1"}}}, "gcp": {"name": "a"}}},
	  "aarch64": {"images": {"aws": {"regions": {"us-east-1": {"image": "ami-b"}}}}},
	  "riscv64": {"images": {"aws": {"regions": {"us-east-1": {"image": "ami-c"}}}}},
	  "s390x": {"images": {}}}}`
	got, err := decodeBootImages([]byte("apiVersion: v1\nkind: ConfigMap\ndata:\n  releaseVersion: 4.21.3\n  stream: |\n    " + strings.ReplaceAll(stream, "\n", "\n    ")))
	if err != nil {
		t.Fatal(err)
	}
	want := map[hyperv1.Architecture]map[string]BootImage{
		hyperv1.ArchitectureAMD64: {"us-east-1": {AMI: "ami-a"}, "eu-north-1": {AMI: "ami-n", UserDataFormat: hyperv1.UserDataFormatCloudConfig, RootDevice: "/dev/sda1"}},
		hyperv1.ArchitectureARM64: {"us-east-1": {AMI: "ami-b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("boot images (-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(openShift))
	f.Add([]byte(`{"data": {"stream": "{}"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := decodeReferences(text); err == nil && (canonical(r.Version) == "" || canonical(r.KubernetesVersion) == "") {
			t.Errorf("versions %q and %q", r.Version, r.KubernetesVersion)
		}
		if images, err := decodeBootImages(text); err == nil && images == nil {
			t.Error("neither images nor an error")
		}
		_, _, _ = credentials(text, quay)
	})
}

func TestPullSecretsMatchAsInTheKubelet(t *testing.T) {
	for name, c := range map[string]struct {
		keys  []string
		image string
		want  string
	}{
		"the registry":                  {[]string{"quay.io", "other.io"}, "quay.io/a/b:1", "quay.io"},
		"the longest path":              {[]string{"quay.io", "quay.io/a", "quay.io/a/b", "quay.io/a/c"}, "quay.io/a/b:1", "quay.io/a/b"},
		"a path ends where a name does": {[]string{"quay.io/a/b"}, "quay.io/a/bc:1", ""},
		"an address":                    {[]string{"https://quay.io/v2/"}, "quay.io/a/b:1", "https://quay.io/v2/"},
		"the first registry of all":     {[]string{"https://index.docker.io/v1/"}, "etcd:1", "https://index.docker.io/v1/"},
		"its short name":                {[]string{"docker.io"}, "etcd:1", "docker.io"},
		"a pattern":                     {[]string{"*.example.test"}, "a.example.test/b:1", "*.example.test"},
		"a pattern is one name deep":    {[]string{"*.example.test"}, "example.test/b:1", ""},
		"another port":                  {[]string{"example.test:5000"}, "example.test:5001/b:1", ""},
		"a pattern that is none":        {[]string{"["}, "quay.io/a:1", ""},
		"nothing":                       {nil, "quay.io/a:1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			auths := map[string]json.RawMessage{}
			for _, key := range c.keys {
				auths[key] = nil
			}
			if got := bestKey(auths, parsed(t, c.image).Context()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestOverrides(t *testing.T) {
	overrides, err := ParseOverrides("quay.io=mirror.test/quay,quay.io/a=mirror.test:5000/special/")
	if err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]string{
		"quay.io/b/c:1":              "mirror.test/quay/b/c:1",
		"quay.io/a/c@sha256:0":       "mirror.test:5000/special/c@sha256:0",
		"quay.io/a:1":                "mirror.test:5000/special:1",
		"quay.io/ab:1":               "mirror.test/quay/ab:1",
		"quay.io.example.test/a:1":   "quay.io.example.test/a:1",
		"quay.io:443/a:1":            "quay.io:443/a:1",
		"other.test/quay.io/a:1":     "other.test/quay.io/a:1",
		"registry.k8s.io/etcd:3.6.0": "registry.k8s.io/etcd:3.6.0",
	} {
		if got := overrides.Apply(image); got != want {
			t.Errorf("%s is pulled as %s, want %s", image, got, want)
		}
	}
	for _, bad := range []string{"quay.io", "=mirror", "a=", "a b=c", "a@sha256:0=b"} {
		if got, err := ParseOverrides(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
	if got, err := ParseOverrides(" "); err != nil || got != nil {
		t.Errorf("nothing is %v, %v", got, err)
	}
}

func parsed(t testing.TB, image string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

var quay = name.MustParseReference("quay.io/a/b:1").Context()
