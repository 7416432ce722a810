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
	"github.com/hosted-control-planes/hypershift/hack/bundle/prebuilt"
	"github.com/hosted-control-planes/hypershift/hack/payload/publishedimages"
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

// The version of a component is the version of its program in the table of versions.
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

// The lab must refuse pods that the published images refuse.
func TestImagesHaveTheConfigurationOfPublishedImages(t *testing.T) {
	for _, i := range table() {
		facts, published := i.published()
		if published == (i.name == "busybox" || i.name == Agnhost || i.name == Prometheus) {
			t.Errorf("%s stands for a published image: %v", i.key(), published)
		}
		if !published {
			continue
		}
		want, got := facts.Config(), i.config()
		if got.User != want.User || got.WorkingDir != want.WorkingDir || !slices.Equal(got.Cmd, want.Command) || !maps.Equal(got.Labels, want.Labels) {
			t.Errorf("%s has the configuration %+v, want %+v", i.key(), got, want)
		}
		if !slices.Contains(got.Env, "PATH="+want.Env["PATH"]) || len(got.Env) != len(want.Env) {
			t.Errorf("%s has the environment %q, want %q", i.key(), got.Env, want.Env)
		}
		// catatonit stands for pause.
		if !slices.Equal(got.Entrypoint, want.Entrypoint) && !slices.Equal(got.Entrypoint, append(slices.Clone(want.Entrypoint), "-P")) {
			t.Errorf("%s has the entrypoint %q, want %q", i.key(), got.Entrypoint, want.Entrypoint)
		}
		for _, p := range i.programs {
			if _, found := facts.Lookup(p.path); !found && i.beside[p.path] == "" {
				t.Errorf("%s has %s at %s, where the published image has nothing", i.key(), p.name, p.path)
			}
		}
	}
}

func TestProgramsHaveTheirFileCapabilities(t *testing.T) {
	for name, tc := range map[string]struct {
		path string
		want []byte
	}{
		"kube-apiserver": {"/usr/local/bin/kube-apiserver", publishedimages.Attribute([]publishedimages.Capability{publishedimages.NetBindService})},
		"kube-scheduler": {"/usr/local/bin/kube-scheduler", nil},
	} {
		i := table()[slices.IndexFunc(table(), func(i image) bool { return i.name == name })]
		files := []file{{path: tc.path, source: "program", mode: 0o755}}
		if err := i.conform(files); err != nil || !slices.Equal(files[0].capabilities, tc.want) {
			t.Errorf("%s has the attribute %x, want %x (%v)", name, files[0].capabilities, tc.want, err)
		}
	}
}

func TestImageWithAProgramThatThePublishedImageLacksIsNotMade(t *testing.T) {
	i := image{name: "etcd", like: "etcd"}
	for _, path := range []string{"/bin/sh", "/usr/bin/cat", "/shell"} {
		if err := i.conform([]file{{path: path, source: "program", mode: 0o755}}); err == nil {
			t.Errorf("an image of etcd with %s is made", path)
		}
	}
	for _, f := range []file{
		{path: "/usr/lib/x86_64-linux-gnu/libc.so.6", source: "library", mode: 0o755},
		{path: "/etc/passwd", text: "root", mode: 0o644},
		{path: "/tmp", mode: os.ModeDir | 0o777},
	} {
		if err := i.conform([]file{f}); err != nil {
			t.Errorf("%s: %v", f.path, err)
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
	entrypoint, err := json.Marshal(i.config().Entrypoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"USER " + i.config().User, "ENTRYPOINT " + string(entrypoint), "COPY --from=build /out/ " + binDir + "/"} {
		if !slices.Contains(strings.Split(final, "\n"), line) {
			t.Errorf("Dockerfile has no line %q", line)
		}
	}
	packages := prebuilt.Operators.Packages
	// The flag for the version does not change the behaviour of the programs.
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
	if want := prebuilt.Operators.Flags; !slices.Equal(got, want) {
		t.Errorf("ko builds releases with %q, want %q", got, want)
	}
}

// flags are the flags of the lab with other flags of the linker.
func flags(linker string) string {
	var all []string
	for _, flag := range prebuilt.Operators.Flags {
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
