package pinned

import (
	goversion "go/version"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// shared lists modules with the same versions of their imports, so that packages are compiled once. A program requires
// at least the versions with which it is released. Programs of other Go releases, or in C, share no packages.
var shared = []struct {
	because string
	dirs    []string
	like    []string // of which each has at least the version; otherwise all have the same one
	modules string   // regular expression
	except  string   // regular expression
}{
	{
		because: "the lab uses the libraries of the root module, of which it requires at least the same versions",
		dirs:    []string{rootModule},
		like:    []string{labModule},
	},
	{
		because: "most programs use the libraries of this repository",
		dirs: []string{
			"agnhost", "cloud-controller-manager", "cluster-api", "cluster-api-provider-aws", "conformance", "containerd", "coredns", "cyclonus",
			"etcd", "external-dns", "flannel", "helm", "ignition", "karpenter", "konnectivity", "kubernetes", "kwok", "metrics-server",
		},
		like:   []string{rootModule, labModule},
		except: kubernetesLibraries,
	},
	{
		because: "these use the libraries of Kubernetes of this repository",
		dirs: []string{
			"agnhost", "cloud-controller-manager", "conformance", "containerd", "coredns", "cyclonus", "etcd", "external-dns", "flannel", "helm",
			"karpenter", "konnectivity", "kubernetes", "kwok", "metrics-server",
		},
		like:    []string{rootModule, labModule},
		modules: kubernetesLibraries,
	},
	{
		because: "these use the libraries of Kubernetes 1.35",
		dirs:    []string{"cluster-api", "cluster-api-provider-aws"},
		modules: kubernetesLibraries,
	},
	{
		because: "one imports the other",
		dirs:    []string{"cluster-api", "cluster-api-provider-aws"},
	},
	{
		because: "these use the libraries of the newest Kubernetes that the lab runs",
		dirs:    []string{"agnhost", "conformance", "etcd", "konnectivity"},
		like:    []string{"kubernetes"},
	},
	{
		because: "these use the libraries of the previous Kubernetes",
		dirs:    []string{"conformance-1.36", "kubelet-1.36"},
		like:    []string{"kubernetes-1.36"},
	},
}

// Directories of modules of this repository.
const (
	rootModule = "../.."
	labModule  = "../../test/lab"
)

const kubernetesLibraries = `^(sigs\.)?k8s\.io/`

func TestProgramsHaveTheSameVersionsOfLibraries(t *testing.T) {
	for _, s := range shared {
		t.Run(s.because, func(t *testing.T) {
			like := s.like
			if len(like) == 0 {
				like = s.dirs
			}
			want := map[string]string{}
			for _, dir := range like {
				for module, version := range requirements(t, dir) {
					if semver.Compare(version, want[module]) > 0 {
						want[module] = version
					}
				}
			}
			modules, except := regexp.MustCompile(s.modules), regexp.MustCompile(s.except)
			for _, dir := range s.dirs {
				var older []string
				for module, version := range requirements(t, dir) {
					excepted := s.except != "" && except.MatchString(module)
					if modules.MatchString(module) && !excepted && semver.Compare(version, want[module]) < 0 {
						older = append(older, module+"@"+want[module])
					}
				}
				if slices.Sort(older); len(older) > 0 {
					t.Errorf("the module in %s compiles other versions than the others: there, run\n    go get %s", filepath.Join("hack/binaries", dir), strings.Join(older, " "))
				}
			}
		})
	}
}

// TestOneReleaseOfGo compares the modules of this repository, and those of programs: one that needs a newer release shares no packages.
func TestOneReleaseOfGo(t *testing.T) {
	want, err := releaseIn(filepath.Join("..", rootModule, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"../../api", labModule} {
		if got, err := releaseIn(filepath.Join("..", dir, "go.mod")); err != nil || got != want {
			t.Errorf("the module in %s is built with %s (%v), and the root module with %s", dir, got, err, want)
		}
	}
	for _, p := range table {
		if needed := "go" + goMod(t, p.module.dir).Go.Version; goversion.Compare(needed, want) > 0 {
			t.Errorf("%s needs %s: raise the toolchain of this repository from %s", p.name, needed, want)
		}
	}
}

// requirements returns the versions of a module's go.mod, or those that it replaces them with.
func requirements(t *testing.T, dir string) map[string]string {
	t.Helper()
	file := goMod(t, dir)
	versions, replaced := map[string]string{}, map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range file.Replace {
		if _, required := versions[r.Old.Path]; required && r.Old.Path == r.New.Path {
			replaced[r.Old.Path] = r.New.Version
		}
	}
	maps.Copy(versions, replaced)
	return versions
}

func goMod(t *testing.T, dir string) *modfile.File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
