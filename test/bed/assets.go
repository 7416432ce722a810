package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// Assets returns a directory with etcd and kube-apiserver, for envtest's BinaryAssetsDirectory, building them if needed. A
// cold build takes longer than the default test timeout: `make test` runs hack/binaries first.
func Assets(t testing.TB) string {
	t.Helper()
	dir, err := assets(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Prepare builds every server that a bed with a cloud runs, and others, so that progress can say how many there are.
func Prepare(ctx context.Context, progress io.Writer, others ...string) error {
	servers := []string{"etcd", "kube-apiserver", "kube-controller-manager", "aws-cloud-controller-manager"}
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		servers = servers[2:]
	}
	_, err := pinned.Ensure(ctx, progress, append(servers, others...)...)
	return err
}

func assets(ctx context.Context, progress io.Writer) (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		for _, name := range []string{"etcd", "kube-apiserver"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				return "", fmt.Errorf("KUBEBUILDER_ASSETS: %w", err)
			}
		}
		return dir, nil
	}
	paths, err := pinned.Ensure(ctx, progress, "etcd", "kube-apiserver")
	if err != nil {
		return "", err
	}
	return together(paths["kube-apiserver"], paths["etcd"])
}

// together links binaries of different modules into one directory, which is named after the keys of both.
func together(paths ...string) (string, error) {
	name := "assets"
	for _, path := range paths {
		name += "_" + filepath.Base(filepath.Dir(path))
	}
	cache, err := pinned.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bin", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("collecting binaries: %w", err)
	}
	for _, path := range paths {
		if err := os.Symlink(path, filepath.Join(dir, filepath.Base(path))); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("collecting binaries: %w", err)
		}
	}
	return dir, nil
}
