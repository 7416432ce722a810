package publishedimages

import (
	"cmp"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/payload/versions"
)

// A release with another version of an image needs another look at the build file.
func TestEveryImageOfAReleaseWasReadAtItsVersion(t *testing.T) {
	for _, kubernetes := range versions.Kubernetes {
		for _, c := range versions.Components {
			reference, err := c.Reference(kubernetes)
			if err != nil {
				t.Fatal(err)
			}
			image, found := Of(c.Name, kubernetes)
			if !found {
				t.Errorf("%s is not in the table", c.Name)
				continue
			}
			_, tag, _ := strings.Cut(reference, ":")
			version := strings.TrimPrefix(strings.TrimSuffix(tag, "-0"), "v")
			if read := image.Sources[0].Version; read != version && image.Differs == "" {
				t.Errorf("%s of Kubernetes %s was read at %s, and the release has %s", c.Name, kubernetes, read, version)
			}
		}
	}
}

func TestRowsAreComplete(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, i := range Table {
		key := i.Name + " " + i.Kubernetes
		if seen[key] || i.Kubernetes != "" && seen[i.Name+" "] {
			t.Errorf("%s is in the table twice", key)
		}
		seen[key] = true
		if len(i.Programs) == 0 || len(i.Sources) == 0 || i.Base.Name == "" || i.Index == "" {
			t.Errorf("%s has %d programs, %d sources, the base %q and the index %q", key, len(i.Programs), len(i.Sources), i.Base.Name, i.Index)
		}
		// Node pools of both architectures run the same release.
		for _, arch := range []string{"amd64", "arm64"} {
			if !slices.Contains(i.Architectures, arch) {
				t.Errorf("%s has no image for %s", key, arch)
			}
		}
		if config := i.Config(); len(config.Entrypoint)+len(config.Command) > 0 {
			if _, found := i.Lookup(slices.Concat(config.Entrypoint, config.Command)[0]); !found {
				t.Errorf("%s has no program %q", key, slices.Concat(config.Entrypoint, config.Command)[0])
			}
		}
		for _, p := range i.AllPrograms() {
			for _, c := range p.Capabilities {
				if _, known := bits[c]; !known {
					t.Errorf("capability %s of %s has no number", c, p.Path)
				}
			}
		}
		for _, s := range slices.Concat(i.Sources, i.Base.Sources) {
			if s.Version == "" {
				if _, err := os.Stat(filepath.Join(root, s.URL)); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			} else if !strings.HasPrefix(s.URL, gitHub) {
				t.Errorf("%s: %s is no address", key, s.URL)
			}
		}
	}
}

func TestConfigurationIsThatOfTheBuildFileOnThatOfTheBase(t *testing.T) {
	for name, tc := range map[string]struct {
		kubernetes, entrypoint, command, user, dir string
	}{
		"kube-apiserver":               {"1.37.2", "/go-runner", "", "0", "/"},
		"kube-scheduler":               {"1.36.3", "/go-runner", "", "0", "/"},
		"kube-proxy":                   {"1.36.3", "/go-runner", "", "", "/"},
		"aws-cloud-controller-manager": {"", "/bin/aws-cloud-controller-manager", "", "0", "/"},
		"aws-kms-provider":             {"", "/go-runner", "/aws-encryption-provider", "0", "/"},
		"cluster-autoscaler":           {"", "", "/cluster-autoscaler", "65532", "/"},
		"konnectivity-server":          {"", "/proxy-server", "", "65532", "/"},
		"flannel":                      {"", "/opt/bin/flanneld", "", "", "/"},
		"karpenter":                    {"", "/ko-app/controller", "", "0", "/"},
		"metrics-server":               {"", "/metrics-server", "", "65534", "/"},
		"pause":                        {"", "/pause", "", "65535:65535", "/"},
		"etcd":                         {"", "", "/usr/local/bin/etcd", "0", "/var/lib/etcd"},
	} {
		i, found := Of(name, cmp.Or(tc.kubernetes, "1.37.2"))
		c := i.Config()
		if !found || strings.Join(c.Entrypoint, " ") != tc.entrypoint || strings.Join(c.Command, " ") != tc.command || c.User != tc.user || c.WorkingDir != tc.dir {
			t.Errorf("%s is %+v, want %+v", name, c, tc)
		}
	}
}

// setcap cap_net_bind_service=+ep writes this value.
func TestAttributeIsThatOfSetcap(t *testing.T) {
	if got := hex.EncodeToString(Attribute([]Capability{NetBindService})); got != "0100000200040000000000000000000000000000" {
		t.Errorf("the attribute is %s", got)
	}
}
