package newest

import (
	"slices"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

func TestReleasesSinceAPin(t *testing.T) {
	got := since("v1.36.3", []string{"v1.36.10", "v1.35.9", "v1.36.3", "v1.37.0-rc.1", "v1.37.0", "v2.0.0+incompatible"})
	if want := []string{"v1.36.3", "v1.36.10", "v1.37.0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPatchesThatAProxyDoesNotListCount(t *testing.T) {
	r := Releases{Modules: map[string][]string{"m": {"v1.36.1", "v1.36.3", "v1.37.2", "v2.0.0"}}}
	for version, want := range map[string]int{"v1.36.1": 2, "v1.36.3": 0, "v1.37.0": 2, "v1.37.2": 0, "v1.38.0": 0} {
		if got, err := r.PatchesBehind("m", version); err != nil || got != want {
			t.Errorf("%s is %d patches behind, %v; want %d", version, got, err, want)
		}
	}
}

// A module that is pinned later is missing in the file until the next refresh.
func TestFileHasAllModules(t *testing.T) {
	r, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := pinned.Modules()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if len(r.Modules[m.Path]) == 0 {
			t.Errorf("%s of %q does not list %s: make newest", File, r.Date, m.Path)
		}
	}
}
