package pinned

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// patchDir is the directory, in a module's directory, with files that replace files of the patched module at the same path. An empty file
// removes it. Go refuses a build with -overlay for files in the module cache.
const patchDir = "patch"

// patch copies the source of the patched module to a new directory, with the files of the patch, and returns a go.mod that uses the copy.
func (p pin) patch(ctx context.Context, dir string) (string, error) {
	source, err := p.source(ctx, p.patchedModule())
	if err != nil {
		return "", fmt.Errorf("finding the source of %s: %w", p.patchedModule(), err)
	}
	patched := filepath.Join(dir, "source")
	if err := os.CopyFS(patched, os.DirFS(source)); err != nil {
		return "", fmt.Errorf("copying the source of %s: %w", p.patchedModule(), err)
	}
	patches := os.DirFS(filepath.Join(p.path, patchDir))
	err = fs.WalkDir(patches, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(patches, name)
		if err != nil {
			return err
		}
		// A new version of the module may have moved the file, and the program would then be built without the patch.
		target := filepath.Join(patched, name)
		if err := os.Remove(target); err != nil || len(content) == 0 {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
	if err != nil {
		return "", fmt.Errorf("patching %s: %w", p.dir, err)
	}
	return p.use(patched, dir)
}

// patchedModule is the path of the module that the patch changes: the program's, or one of its libraries.
func (p pin) patchedModule() string { return cmp.Or(p.patches, p.require) }

// use writes a go.mod and a go.sum to dir, in which the patched module is replaced by a directory.
func (p pin) use(patched, dir string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(p.path, "go.mod"))
	if err != nil {
		return "", err
	}
	sum, err := os.ReadFile(filepath.Join(p.path, "go.sum"))
	if err != nil {
		return "", err
	}
	file, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		return "", err
	}
	if err := file.AddReplace(p.patchedModule(), "", patched, ""); err != nil {
		return "", err
	}
	if mod, err = file.Format(); err != nil {
		return "", err
	}
	name := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(name, mod, 0o644); err != nil {
		return "", err
	}
	return name, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644)
}

// source is the directory of a module in the module cache. It downloads the module if necessary.
func (p pin) source(ctx context.Context, module string) (string, error) {
	dir, err := p.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil || dir != "" {
		return dir, err
	}
	if _, err := p.goCommand(ctx, "mod", "download", module); err != nil {
		return "", err
	}
	return p.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", module)
}

// goCommand runs a go command in the directory of the module, and returns its output.
func (p pin) goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = p.path, append(os.Environ(), p.spec(nil).Env...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, failed.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// contents returns the names and contents of all files in a directory.
func contents(dir string) ([]string, error) {
	var all []string
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		all = append(all, name, string(content))
		return err
	})
	return all, err
}
