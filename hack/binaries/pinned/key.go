package pinned

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	goversion "go/version"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/mod/modfile"
)

// pin is a module as its go.mod and go.sum on disk define it.
type pin struct {
	*module
	path    string // absolute
	version string
	release string // of Go, such as go1.27.4
	key     string // name of the directory of the results
}

// read reads the version that a module directory pins, and derives the key of its results. The key has only the minor version of Go,
// because a patch release of Go does not justify minutes of builds of the same servers.
func (s shelf) read(m *module) (pin, error) {
	path := filepath.Join(s.pins, m.dir)
	mod, err := os.ReadFile(filepath.Join(path, "go.mod"))
	if err != nil {
		return pin{}, fmt.Errorf("reading the pins of %s: %w", m.dir, err)
	}
	sum, err := os.ReadFile(filepath.Join(path, "go.sum"))
	if err != nil {
		return pin{}, fmt.Errorf("reading the pins of %s: %w", m.dir, err)
	}
	version, err := required(mod, m.require)
	if err != nil {
		return pin{}, fmt.Errorf("reading the pins of %s: %w", m.dir, err)
	}
	var patches []string
	if m.patched {
		if patches, err = contents(filepath.Join(path, patchDir)); err != nil {
			return pin{}, fmt.Errorf("reading the patch of %s: %w", m.dir, err)
		}
	}
	h := sha256.New()
	for _, part := range slices.Concat([]string{string(mod), string(sum), m.ldflags(version), goversion.Lang(s.release), runtime.GOOS, runtime.GOARCH}, m.tags, m.env, patches) {
		fmt.Fprintf(h, "%d\n%s", len(part), part)
	}
	key := fmt.Sprintf("%s-%s-%s", m.dir, version, hex.EncodeToString(h.Sum(nil))[:12])
	return pin{module: m, path: path, version: version, release: s.release, key: key}, nil
}

// Toolchain is the variable that selects the release of Go for all builds of this repository, or a newer one if a module needs it.
func Toolchain() (variable string, err error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	release, err := releaseIn(filepath.Join(root, "go.mod"))
	return toolchain(release), err
}

func toolchain(release string) (variable string) { return "GOTOOLCHAIN=" + release + "+auto" }

// releaseIn is the release of Go that a go.mod names as its toolchain.
func releaseIn(gomod string) (string, error) {
	text, err := os.ReadFile(gomod)
	if err != nil {
		return "", fmt.Errorf("reading the release of Go: %w", err)
	}
	f, err := modfile.Parse(gomod, text, nil)
	if err != nil {
		return "", fmt.Errorf("reading the release of Go: %w", err)
	}
	if f.Toolchain == nil {
		return "", fmt.Errorf("%s names no toolchain", gomod)
	}
	return f.Toolchain.Name, nil
}

func required(gomod []byte, path string) (string, error) {
	f, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return "", err
	}
	for _, r := range f.Require {
		if r.Mod.Path == path {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", path)
}
