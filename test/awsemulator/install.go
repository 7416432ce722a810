package awsemulator

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/venv/venv"
	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

//go:embed requirements.txt emulator/*.py
var files embed.FS

// installation says where the parts of an installed emulator are.
type installation struct {
	python string // the interpreter of the virtual environment
	source string // the folder that holds the Python package
}

// install makes sure that the pinned packages and our Python code are in the cache.
// Both folders carry a hash of their content in their name: a change makes a new one, and a folder is
// never half old and half new.
func install(ctx context.Context, progress io.Writer) (installation, error) {
	root, unlock, err := cache()
	if err != nil {
		return installation{}, err
	}
	defer unlock()

	source, err := installSource(root)
	if err != nil {
		return installation{}, err
	}
	requirements, err := files.ReadFile("requirements.txt")
	if err != nil {
		return installation{}, err
	}
	python, err := venv.InstallIn(ctx, root, "aws emulator", requirements, progress)
	return installation{python: python, source: source}, err
}

// cache returns the folder of the installations. A file lock keeps test packages that run
// side by side from installing at the same time.
func cache() (root string, unlock func(), err error) {
	dir, err := pinned.CacheDir()
	if err != nil {
		return "", nil, err
	}
	root = filepath.Join(dir, "awsemulator")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", nil, fmt.Errorf("making the emulator's cache: %w", err)
	}
	unlock, err = venv.Lock(filepath.Join(root, "lock"))
	return root, unlock, err
}

// installSource unpacks the Python code that is embedded in this package, so that a
// compiled test finds it wherever it runs.
func installSource(root string) (string, error) {
	names, err := fs.Glob(files, "emulator/*.py")
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	content := map[string][]byte{}
	const rules = "emulator/rules.json"
	for _, name := range append(names, rules) {
		if name == rules {
			content[name] = awsrules.JSON
		} else if content[name], err = files.ReadFile(name); err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(content[name]), content[name])
	}
	dir := filepath.Join(root, "source-"+venv.ShortHash(hash.Sum(nil)))
	return dir, venv.Complete(dir, func() error {
		if err := os.MkdirAll(filepath.Join(dir, "emulator"), 0o755); err != nil {
			return err
		}
		for name, text := range content {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}
