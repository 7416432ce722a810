// Package prebuilt finds programs of this repository that were built before, on this machine or another one, from the same source:
//
//	<cache>/ours/<hash of the source tree>/<program>
//
// The hash is that of git. A checkout with changes, or without git, has none, and its programs are built from source.
package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// Program returns the path of a program of the checkout at root, or "".
func Program(ctx context.Context, root, name string) (string, error) {
	dir, err := Dir(ctx, root)
	if dir == "" || err != nil {
		return "", err
	}
	program := filepath.Join(dir, name)
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("looking for %s: %w", name, err)
	}
	return program, nil
}

// Dir returns the directory of the programs of the checkout at root, which need not exist, or "" for a checkout that has none.
func Dir(ctx context.Context, root string) (string, error) {
	cache, err := pinned.CacheDir()
	if err != nil {
		return "", err
	}
	tree := tree(ctx, root)
	if tree == "" {
		return "", nil
	}
	return filepath.Join(cache, "ours", tree), nil
}

// tree is the hash of the source, or "" if it differs from what is committed or git does not tell.
func tree(ctx context.Context, root string) string {
	changes, err := git(ctx, root, "status", "--porcelain")
	if err != nil || changes != "" {
		return ""
	}
	hash, err := git(ctx, root, "rev-parse", "HEAD^{tree}")
	if err != nil {
		return ""
	}
	return hash
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}
