package versions

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/hack/binaries/newest"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/release/payload"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// These are the only images of a release that the lab does not run. A new name here needs a reason that users read.
var differences = []string{
	"aws-cloud-controller-manager", "aws-ebs-csi-driver", "cluster-autoscaler", "csi-external-attacher", "csi-external-provisioner",
	"csi-external-resizer", "csi-livenessprobe", "csi-node-driver-registrar", "haproxy", "pause", "pod-identity-webhook",
}

func TestVersionsAreThoseOfTheLab(t *testing.T) {
	var got []string
	for _, c := range Components {
		own := c.Version != "" || len(c.Versions) > 0
		if own != (c.Differs != "") {
			t.Errorf("%s has a version of its own: %v, and a reason: %q", c.Name, own, c.Differs)
		}
		if c.Absent && c.Program != "" {
			t.Errorf("%s is absent from the lab, and is built for it", c.Name)
		}
		for _, kubernetes := range Kubernetes {
			image, err := c.Reference(kubernetes)
			if err != nil {
				t.Fatal(err)
			}
			tested, err := c.Tested(kubernetes)
			if err != nil {
				t.Fatal(err)
			}
			_, tag, _ := strings.Cut(image, ":")
			if same := tested != "" && strings.Contains("-"+strings.TrimPrefix(tag, "v")+"-", "-"+tested+"-"); !same && !slices.Contains(got, c.Name) {
				got = append(got, c.Name)
			}
		}
	}
	if slices.Sort(got); !slices.Equal(got, differences) {
		t.Errorf("the lab runs another version of %q, want %q", got, differences)
	}
}

// A payload of a version of Kubernetes contains the servers of this version, and the operators can host it.
func TestProgramsOfKubernetesHaveItsVersion(t *testing.T) {
	for _, kubernetes := range Kubernetes {
		for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"} {
			if version, err := pinned.Version(Program(program, kubernetes)); err != nil || version != "v"+kubernetes {
				t.Errorf("%s is %s, %v; want v%s", Program(program, kubernetes), version, err, kubernetes)
			}
		}
		if line, known := release.LineOf(kubernetes); !known || !line.Supported() {
			t.Errorf("version %s cannot be hosted", kubernetes)
		}
	}
}

func TestDescriptionsAreUpToDate(t *testing.T) {
	for _, kubernetes := range Kubernetes {
		want, err := Describe(kubernetes)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := payload.Parse(want); err != nil || len(d.Components) != len(Components) {
			t.Errorf("the description of %s cannot be read: %v", kubernetes, err)
		}
		if got := read(t, "hack", "payload", "kubernetes-"+kubernetes+".yaml"); got != string(want) {
			t.Errorf("hack/payload/kubernetes-%s.yaml is not what the table describes: run go run ./hack/payload -generate", kubernetes)
		}
	}
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(root, "hack", "payload", "*.yaml")); err != nil || len(files) != len(Kubernetes) {
		t.Errorf("hack/payload has %q, %v; want a description for each of %q", files, err, Kubernetes)
	}
}

// nodePrograms maps the arguments of node-programs.Dockerfile to the programs of the lab.
var nodePrograms = map[string]string{"KUBERNETES": "kubelet", "CONTAINERD": "containerd", "RUNC": "runc", "CNI": "bridge"}

// The programs of nodes are downloaded, not built.
func TestNodeProgramsAreThoseOfTheLab(t *testing.T) {
	dockerfile := read(t, "hack", "payload", "node-programs.Dockerfile")
	for arg, program := range nodePrograms {
		tested, err := pinned.Version(program)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^ARG ` + arg + `=v?(.*)$`).FindStringSubmatch(dockerfile)
		if found == nil || "v"+found[1] != tested {
			t.Errorf("node-programs.Dockerfile has %s %q, the lab %s", arg, found, tested)
		}
	}
}

func TestExternalDNSOfTheChartIsThatOfTheLab(t *testing.T) {
	tested, err := pinned.Version("external-dns")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		ExternalDNS struct {
			Image string `json:"image"`
		} `json:"externalDNS"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "config", "helm", "hypershift", "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	if image := values.ExternalDNS.Image; !strings.HasSuffix(image, ":"+tested) {
		t.Errorf("the chart has %q, the lab %s", image, tested)
	}
}

// unlisted are programs of modules without a list of releases at the proxy.
var unlisted = []string{"proxy-agent", "proxy-server"}

// A release contains the fixes of its projects: no program is more than one patch behind the releases of the last refresh.
func TestProgramsAreAtMostOnePatchBehind(t *testing.T) {
	releases, err := newest.Read()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := pinned.Modules()
	if err != nil {
		t.Fatal(err)
	}
	programs := slices.AppendSeq([]string{"external-dns"}, maps.Values(nodePrograms)) // of the chart, and of nodes
	for _, kubernetes := range Kubernetes {
		for _, c := range Components {
			if c.Program != "" {
				programs = append(programs, c.program(kubernetes))
			}
		}
	}
	for _, program := range programs {
		i := slices.IndexFunc(modules, func(m pinned.Module) bool { return slices.Contains(m.Programs, program) })
		if i < 0 {
			t.Errorf("%s is not built", program)
			continue
		}
		m := modules[i]
		if slices.Contains(releases.Unlisted, m.Path) != slices.Contains(unlisted, program) {
			t.Errorf("the proxy lists the releases of %s: %v", program, !slices.Contains(releases.Unlisted, m.Path))
		}
		if behind, err := releases.PatchesBehind(m.Path, m.Version); err != nil || behind > 1 {
			t.Errorf("%s %s is %d patches behind %q of %s, %v", program, m.Version, behind, releases.Modules[m.Path], releases.Date, err)
		}
	}
}

// Otherwise Renovate raises the previous version to the newest one.
func TestRenovateKeepsThePreviousVersion(t *testing.T) {
	line, _ := release.LineOf(Kubernetes[1])
	rules := read(t, ".github", "renovate.json5")
	minor := strings.TrimPrefix(line.String(), "1.")
	for _, want := range []string{`"hack/binaries/*-1.` + minor + `/**"`, `\\.` + minor + `\\.`} {
		if !strings.Contains(rules, want) {
			t.Errorf("renovate.json5 lacks %s", want)
		}
	}
}
