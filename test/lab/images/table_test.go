package images

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/payload/versions"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release/payload"
)

func TestEveryProgramIsPinned(t *testing.T) {
	for _, program := range Binaries() {
		if !slices.Contains(pinned.Names(), program) {
			t.Errorf("hack/binaries does not build %s", program)
		}
	}
}

// The lab must test the images that a release has outside of it.
func TestReleaseHasTheImagesOfItsVersion(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	set := Set{}
	for _, i := range table() {
		set[i.key()] = "registry.example.test/" + i.key()
	}
	for _, version := range Versions {
		text, err := os.ReadFile(filepath.Join(root, "hack", "payload", "kubernetes-"+version+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		described, err := payload.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range versions.Components {
			if c.Absent {
				delete(described.Components, c.Name)
			}
		}
		// No project publishes the programs of nodes: see docs/node-images.md.
		described.Components[names.NodePrograms] = names.NodePrograms
		want := slices.Sorted(maps.Keys(described.Components))
		d := Describe(set, version)
		var got []string
		for name, ref := range d.Components {
			got = append(got, name)
			if _, tag, tagged := strings.Cut(path.Base(ref), ":"); tagged && tag != "v"+version {
				t.Errorf("release %s has %s", version, ref)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("release %s has %q, want %q", version, got, want)
		}
		for arch, regions := range d.BootImages {
			if regions[region].AMI == "" {
				t.Errorf("release %s has no image for machines of %s", version, arch)
			}
		}
	}
}

// The first cluster of the demo does not wait for programs of nodes and of other versions.
func TestFirstImagesAreThoseOfControlPlanes(t *testing.T) {
	version := Versions[0]
	first := chosen(ControlPlane(version))
	set := Set{}
	for _, i := range first {
		set[i.key()] = "registry.example.test/" + i.key()
		if i.version != "" && i.version != version || i.name == names.NodePrograms || strings.HasPrefix(i.name, "cluster-api") {
			t.Errorf("%s is among the first images", i.key())
		}
	}
	if len(first) != len(ControlPlane(version)) {
		t.Errorf("%q names images that do not exist", ControlPlane(version))
	}
	components := Describe(set, version).Components
	for _, name := range names.RequiredImages {
		if components[name] == "" {
			t.Errorf("the first release has no image %s", name)
		}
	}
	if set[Operator] == "" {
		t.Error("the first images are without the operators")
	}
}

func TestImagesOfAVersionAreEnoughForItsRelease(t *testing.T) {
	for _, version := range Versions {
		set := Set{}
		for _, i := range chosen(OfVersion(version)) {
			set[i.key()] = "registry.example.test/" + i.key()
			if i.version != "" && i.version != version {
				t.Errorf("%s is among the images of %s", i.key(), version)
			}
		}
		all := Set{}
		for _, i := range chosen(nil) {
			all[i.key()] = "registry.example.test/" + i.key()
		}
		if got, want := Describe(set, version).Components, Describe(all, version).Components; !maps.Equal(got, want) {
			t.Errorf("release %s has the images %v, want %v", version, got, want)
		}
	}
}

// The version of a component is that of the program in the table of versions.
func TestImagesRunTheProgramsOfTheTable(t *testing.T) {
	for _, c := range versions.Components {
		if c.Absent {
			continue
		}
		found := false
		for _, i := range table() {
			if i.name != c.Name {
				continue
			}
			found = true
			program := c.Program
			if c.PerKubernetes {
				program = versions.Program(program, i.version)
			}
			if runs := slices.ContainsFunc(i.programs, func(at at) bool { return at.name == program }); runs != (program != "") {
				t.Errorf("%s of the lab runs %v, and its version is that of %q", i.key(), i.programs, program)
			}
		}
		if !found {
			t.Errorf("the lab has no image %s", c.Name)
		}
	}
}

// The lab must test the image that is shipped.
func TestOperatorsAreBuiltAsInImagesAndReleases(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, root, "Dockerfile")
	_, final, found := strings.Cut(text, "\nFROM scratch\n")
	if !found {
		t.Fatal("the image is not based on scratch")
	}
	i := table()[slices.IndexFunc(table(), func(i image) bool { return i.name == Operator })]
	entrypoint, err := json.Marshal(i.entrypoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"USER " + i.user, "ENTRYPOINT " + string(entrypoint), "COPY --from=build /out/ " + binDir + "/"} {
		if !slices.Contains(strings.Split(final, "\n"), line) {
			t.Errorf("Dockerfile has no line %q", line)
		}
	}
	var packages []string
	for _, program := range operators {
		packages = append(packages, "./"+program)
	}
	// What sets the version does not change what the programs do.
	line := regexp.MustCompile(` -X \S+=\$\w+`).ReplaceAllString(text, "")
	if want := "go build " + flags("\"-s -w\"") + " -o /out/ " + strings.Join(packages, " ") + "\n"; !strings.Contains(line, want) {
		t.Errorf("Dockerfile does not build with %q", want)
	}
	makefile := read(t, root, "Makefile")
	if want := "go build " + flags("'$(LDFLAGS)'") + " -o bin/ " + strings.Join(packages, " ") + " ./cmd/hypershift\n"; !strings.Contains(makefile, want) {
		t.Errorf("Makefile does not build with %q", want)
	}
	if !strings.Contains(makefile, "\nLDFLAGS = -s -w $(addprefix -X ") {
		t.Error("Makefile sets other flags of the linker")
	}
	var ko struct{ DefaultFlags, DefaultLdflags []string }
	if err := yaml.UnmarshalStrict([]byte(read(t, root, "hack", "release", "ko.yaml")), &ko); err != nil {
		t.Fatal(err)
	}
	ko.DefaultLdflags = slices.DeleteFunc(ko.DefaultLdflags, func(flag string) bool { return strings.HasPrefix(flag, "-X ") })
	// ko itself adds -trimpath.
	got := append(ko.DefaultFlags, "-trimpath", "-ldflags="+strings.Join(ko.DefaultLdflags, " "))
	if !slices.Equal(got, buildFlags) {
		t.Errorf("ko builds releases with %q, want %q", got, buildFlags)
	}
}

// flags are the flags of the lab with other flags of the linker.
func flags(linker string) string {
	var all []string
	for _, flag := range buildFlags {
		if strings.HasPrefix(flag, "-ldflags=") {
			flag = "-ldflags " + linker
		}
		all = append(all, flag)
	}
	return strings.Join(all, " ")
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
