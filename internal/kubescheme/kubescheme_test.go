package kubescheme

import (
	"regexp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// stableVersion is the pattern of versions without alpha and beta.
var stableVersion = regexp.MustCompile(`^v[0-9]+$`)

// TestSchemeHasTheNewestStableVersionOfEveryGroup fails when client-go adds a group or a version.
func TestSchemeHasTheNewestStableVersionOfEveryGroup(t *testing.T) {
	s := runtime.NewScheme()
	if err := AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	newest := map[string]string{}
	for _, gv := range clientgoscheme.Scheme.PrioritizedVersionsAllGroups() {
		if gv.Group != "" && gv.Version == runtime.APIVersionInternal || !stableVersion.MatchString(gv.Version) {
			continue
		}
		if known := newest[gv.Group]; known == "" || version.CompareKubeAwareVersionStrings(gv.Version, known) > 0 {
			newest[gv.Group] = gv.Version
		}
	}
	if len(newest) < 15 {
		t.Fatalf("client-go has only the groups %v", newest)
	}
	for group, want := range newest {
		var got []string
		for _, gv := range s.PrioritizedVersionsForGroup(group) {
			got = append(got, gv.Version)
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("group %q has versions %v, want %s", group, got, want)
		}
	}
}
