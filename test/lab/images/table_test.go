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

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
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

// notInTheLab are the images whose programs cannot be built here: no module proxy serves their modules. README names them
// as never run.
var notInTheLab = map[string]bool{
	"aws-ebs-csi-driver": true, "csi-external-attacher": true, "csi-external-provisioner": true, "csi-external-resizer": true,
	"cluster-autoscaler": true, "csi-livenessprobe": true, "csi-node-driver-registrar": true, "pod-identity-webhook": true,
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
		for name := range notInTheLab {
			if described.Components[name] == "" {
				t.Errorf("release %s has no %s, which is listed as missing in the lab", version, name)
			}
			delete(described.Components, name)
		}
		// Nobody publishes the programs of nodes: see docs/node-images.md.
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

// The lab must test the image that is shipped.
func TestOperatorImageMatchesTheDockerfile(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, final, found := strings.Cut(string(text), "\nFROM scratch\n")
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
	build := regexp.MustCompile(`(?s)CGO_ENABLED=0.*go build (.*) -o /out/ (.*)\n\n`).FindStringSubmatch(string(text))
	if build == nil {
		t.Fatal("Dockerfile does not build static programs")
	}
	var flags, packages []string
	for _, flag := range buildFlags {
		flags = append(flags, strings.Replace(flag, "=-s -w", " '-s -w'", 1))
	}
	for _, program := range operators {
		packages = append(packages, "./"+program)
	}
	if build[1] != strings.Join(flags, " ") || build[2] != strings.Join(packages, " ") {
		t.Errorf("Dockerfile builds %q with %q", build[2], build[1])
	}
}
