package images

import (
	"archive/tar"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

const someReferences = `
	configs[AgnhostPrev] = Config{list.PromoterE2eRegistry, "agnhost", "2.55"}
	configs[Agnhost] = Config{list.PromoterE2eRegistry, "agnhost", "2.63.0"}
	configs[AgnhostPrivate] = Config{list.PrivateRegistry, "agnhost", "2.6"}
	configs[InvalidRegistryImage] = Config{list.InvalidRegistry, "alpine", "3.1"}
	configs[Pause] = Config{list.GcRegistry, "pause", "3.10.2"}
`

func TestImagesOfTestsAreWhereTheTestsExpectThem(t *testing.T) {
	references := parseReferences(someReferences)
	var pushed []string
	for _, name := range []string{"agnhost", "alpine", "pause"} {
		for _, r := range tagsOf(references, name) {
			pushed = append(pushed, r.repository("1.36.3")+":"+r.tag)
		}
	}
	want := []string{"conformance-1.36.3/promotere2e/agnhost:2.55", "conformance-1.36.3/promotere2e/agnhost:2.63.0", "conformance-1.36.3/gc/pause:3.10.2"}
	if !slices.Equal(pushed, want) {
		t.Errorf("got %q, want %q", pushed, want)
	}
	const list = `gcRegistry: 10.0.0.1:5000/conformance-1.36.3/gc
privateRegistry: 10.0.0.1:5000/conformance-1.36.3/private
promoterE2eRegistry: 10.0.0.1:5000/conformance-1.36.3/promotere2e
`
	if got := repositoryList("10.0.0.1:5000", "1.36.3", references); got != list {
		t.Errorf("the list of repositories is\n%swant\n%s", got, list)
	}
}

// Conformance tests of the newest version run with these images. A new image must be built, or be known to be of other tests.
func TestEveryImageOfTheTestsIsBuiltOrNotOfConformance(t *testing.T) {
	otherTests := []string{
		"apparmor-loader", "alpine", "distroless-iptables", "ipc-utils", "nfs-provisioner", "node-perf/npb-ep", "node-perf/npb-is",
		"node-perf/pytorch-wide-deep", "perl", "regression-issue-74839", "resource-consumer", "sample-device-plugin", "volume/iscsi", "volume/nfs",
	}
	source, err := pinned.Source(t.Context(), ConformanceProgram("e2e.test", Versions[0]))
	if err != nil {
		t.Fatal(err)
	}
	references, err := readReferences(source)
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]bool{}
	for _, i := range conformance(Versions[0]) {
		built[i.name] = true
	}
	left := map[string]bool{}
	for _, r := range references {
		if !built[r.name] {
			left[r.name] = true
		}
	}
	slices.Sort(otherTests)
	if got := slices.Sorted(maps.Keys(left)); !slices.Equal(got, otherTests) {
		t.Errorf("these images are not built: %q, want %q", got, otherTests)
	}
}

func TestEveryProgramOfConformanceIsPinned(t *testing.T) {
	for _, version := range Versions {
		programs := ConformancePrograms(version)
		if !slices.Contains(programs, ConformanceProgram("agnhost", version)) {
			t.Errorf("%q has no agnhost of %s", programs, version)
		}
		for _, program := range programs {
			if !slices.Contains(pinned.Names(), program) {
				t.Errorf("hack/binaries does not build %s", program)
				continue
			}
			// The tests, their client and their programs are of the version that they test.
			if got, err := pinned.Version(program); err != nil || program != "etcd" && program != "coredns" && got != "v"+version {
				t.Errorf("%s is of version %s, %v; want %s", program, got, err, version)
			}
		}
	}
}

func TestLayerContainsTextsDirectoriesAndModes(t *testing.T) {
	layer := layerOf(t, shelf{t.TempDir()},
		file{path: "/tmp", mode: 0o777 | os.ModeDir | os.ModeSticky},
		file{path: "/etc/text", text: "content", mode: 0o644},
		file{path: "/bin/nnp", source: program(t, "program"), mode: 0o755 | os.ModeSetuid})
	plain, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	got := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if err != nil {
			break
		}
		got[header.Name+" "+string(header.Typeflag)] = strconv.FormatInt(header.Mode, 8)
	}
	want := map[string]string{"tmp/ 5": "1777", "etc/text 0": "644", "bin/nnp 0": "4755"}
	if !maps.Equal(got, want) {
		t.Errorf("the layer has %v, want %v", got, want)
	}
}

func TestTextsAreInTheKeyOfALayer(t *testing.T) {
	one := digest(t, layerOf(t, shelf{t.TempDir()}, file{path: "/etc/text", text: "one", mode: 0o644}))
	s := shelf{t.TempDir()}
	layerOf(t, s, file{path: "/etc/text", text: "two", mode: 0o644})
	if digest(t, layerOf(t, s, file{path: "/etc/text", text: "one", mode: 0o644})) != one {
		t.Error("a layer with another text is taken from the cache")
	}
}

// A pod may have variables that busybox would drop. The messages of all others are busybox's messages.
func TestShellOfTheTestsKeepsAllVariables(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	dir := t.TempDir()
	busybox, shell := filepath.Join(dir, "busybox"), filepath.Join(dir, "sh")
	text := strings.NewReplacer("/bin/busybox", busybox, "/bin/bash", bash).Replace(busyboxSh)
	for path, text := range map[string]string{busybox: "#!" + bash + "\necho busybox \"$@\"\n", shell: text} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for variable, want := range map[string]string{"data_1=x": "busybox -c env", "data-1=x": "data-1=x"} {
		cmd := exec.Command(shell, "-c", "env")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), variable}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("with %s, the shell prints %q, want %q: %v", variable, out, want, err)
		}
	}
}
