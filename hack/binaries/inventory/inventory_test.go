package inventory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

func TestPageHasThePinnedVersions(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "hack", "binaries", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	modules, err := pinned.Modules()
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := Digest(modules); err != nil || !strings.Contains(string(page), digest) {
		t.Errorf("a go.mod has changed: make inventory (%v)", err)
	}
	for _, m := range modules {
		if want := Begin(m); !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q: make inventory", want)
		}
	}
}

func TestLibrariesOfOtherVersions(t *testing.T) {
	parse := func(text string) *modfile.File {
		f, err := modfile.Parse("go.mod", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	released := parse("module m\n\nrequire (\n\ta v1.0.0\n\tb v1.0.0\n\tc v0.0.0\n\td v1.0.0\n\te v1.0.0\n)\n\nreplace c => ./staging/c\n\nreplace e => e v1.0.1\n")
	built := parse("module n\n\nrequire (\n\ta v1.1.0\n\tb v1.0.0\n\tc v0.36.3\n\te v1.0.0\n\tf v1.0.0\n)\n")
	want := []Library{{"a", "v1.0.0", "v1.1.0"}, {"e", "v1.0.1", "v1.0.0"}}
	if got := differences(released, built); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
