package pinned

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// patchDir is the directory, in a module's directory, with files that replace the program's files at the same path. An empty file
// removes it. Go refuses a build with -overlay for files in the module cache.
const patchDir = "patch"

// patch copies the source of the program to a new directory, with the files of its patch, and returns a go.mod that uses the
// copy.
func (p pin) patch(ctx context.Context, dir string) (string, error) {
	source, err := p.source(ctx)
	if err != nil {
		return "", fmt.Errorf("finding the source of %s: %w", p.dir, err)
	}
	program := filepath.Join(dir, "source")
	if err := os.CopyFS(program, os.DirFS(source)); err != nil {
		return "", fmt.Errorf("copying the source of %s: %w", p.dir, err)
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
		// A new version of the program may have moved the file, and would then be built without the patch.
		target := filepath.Join(program, name)
		if err := os.Remove(target); err != nil || len(content) == 0 {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
	if err != nil {
		return "", fmt.Errorf("patching %s: %w", p.dir, err)
	}
	return p.use(program, dir)
}

// use writes a go.mod and a go.sum to dir, in which the program is replaced by a directory.
func (p pin) use(program, dir string) (string, error) {
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
	if err := file.AddReplace(p.require, "", program, ""); err != nil {
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

// source is the directory of the program in the module cache. It downloads the program if necessary.
func (p pin) source(ctx context.Context) (string, error) {
	dir, err := p.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", p.require)
	if err != nil || dir != "" {
		return dir, err
	}
	if _, err := p.goCommand(ctx, "mod", "download", p.require); err != nil {
		return "", err
	}
	return p.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", p.require)
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
