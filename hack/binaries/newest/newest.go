// Package newest contains the releases of the modules that hack/binaries pins, at the time of the last refresh. Tests compare the pins with
// them, without a network.
package newest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// File is where the releases are kept, relative to this repository.
const File = "hack/binaries/newest/releases.json"

//go:embed releases.json
var file []byte

// Releases are the releases that the module proxy listed.
type Releases struct {
	// Date is the day of the refresh, such as 2026-11-30.
	Date string `json:"date"`
	// Modules maps the path of a module to its releases without pre-releases, the oldest first.
	Modules map[string][]string `json:"modules"`
	// Unlisted are the modules of which the proxy serves versions without listing them. Of these, only the pinned version is known.
	Unlisted []string `json:"unlisted"`
}

// Read returns the releases of the last refresh.
func Read() (Releases, error) {
	var r Releases
	if err := json.Unmarshal(file, &r); err != nil {
		return r, fmt.Errorf("reading %s: %w", File, err)
	}
	return r, nil
}

// Refresh asks the module proxy for the releases of all modules.
func Refresh(ctx context.Context) (Releases, error) {
	modules, err := pinned.Modules()
	if err != nil {
		return Releases{}, err
	}
	oldest := map[string]pinned.Module{}
	for _, m := range modules {
		if other, pinnedTwice := oldest[m.Path]; !pinnedTwice || semver.Compare(m.Version, other.Version) < 0 {
			oldest[m.Path] = m
		}
	}
	r := Releases{Date: time.Now().UTC().Format(time.DateOnly), Modules: map[string][]string{}}
	for path, m := range oldest {
		listed, err := list(ctx, m)
		if err != nil {
			return Releases{}, fmt.Errorf("listing the versions of %s: %w", path, err)
		}
		if r.Modules[path] = since(m.Version, listed); len(r.Modules[path]) == 0 {
			r.Modules[path], r.Unlisted = []string{m.Version}, append(r.Unlisted, path)
		}
	}
	slices.Sort(r.Unlisted)
	return r, nil
}

// JSON is the content of the file.
func (r Releases) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "\t")
	return append(text, '\n'), err
}

// PatchesBehind returns how many patches of its minor version are newer than this version of a module. A proxy may list some of them only,
// so that their numbers are compared.
func (r Releases) PatchesBehind(path, version string) (int, error) {
	own, err := utilversion.ParseSemantic(version)
	if err != nil {
		return 0, fmt.Errorf("comparing the version of %s: %w", path, err)
	}
	behind := 0
	for _, listed := range r.Modules[path] {
		release, err := utilversion.ParseSemantic(listed)
		if err != nil {
			return 0, fmt.Errorf("reading a release of %s: %w", path, err)
		}
		if semver.MajorMinor(listed) == semver.MajorMinor(version) {
			behind = max(behind, int(release.Patch())-int(own.Patch()))
		}
	}
	return behind, nil
}

// list returns all versions that the proxy lists, the oldest first; none if it refuses to list them.
func list(ctx context.Context, m pinned.Module) ([]string, error) {
	var found struct{ Versions []string }
	err := m.List(ctx, &found, "-versions", m.Path)
	if err != nil && strings.Contains(err.Error(), "/@v/list: 403") {
		return nil, nil
	}
	return found.Versions, err
}

// since are the releases of the minor version of the pin, and of later ones: no pin is compared with others.
func since(pin string, versions []string) []string {
	kept := slices.DeleteFunc(slices.Clone(versions), func(v string) bool {
		return semver.Prerelease(v) != "" || strings.HasSuffix(v, "+incompatible") || semver.Compare(semver.MajorMinor(v), semver.MajorMinor(pin)) < 0
	})
	semver.Sort(kept)
	return kept
}
