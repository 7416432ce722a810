package pinned

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// CacheDir is the directory of files that are expensive to create and shared by all checkouts.
func CacheDir() (string, error) {
	if dir := os.Getenv("HYPERSHIFT_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "hypershift"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory (set HYPERSHIFT_CACHE to choose one): %w", err)
	}
	return filepath.Join(home, ".cache", "hypershift"), nil
}

// Root is the root of this checkout: the nearest parent directory with the go.mod of this project. Tests start in the
// directory of their package, commands mostly in the root.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module github.com/hosted-control-planes/hypershift\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not inside a checkout of github.com/hosted-control-planes/hypershift")
		}
	}
}

// firstRun is the free disk, in GiB, for a demo from empty caches. It uses 25, mostly for the build cache of Go, and its last builds check
// that three are free.
const firstRun = 28

// CheckFirstRun fails if no program was built on this machine yet and the free disk is not enough for all programs of the lab. Later,
// each build makes its own check.
func CheckFirstRun() error { return checkFirstRun(firstRun) }

func checkFirstRun(gib uint64) error {
	begun, err := Built("etcd")
	if err != nil || begun {
		return err
	}
	cache, err := CacheDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("creating the cache directory: %w", err)
	}
	return CheckDisk(cache, gib)
}

// CheckDisk fails before a build that would fill the disk.
func CheckDisk(dir string, gib uint64) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("looking for free disk in %s: %w", dir, err)
	}
	free := fs.Bavail * uint64(fs.Bsize) >> 30 //nolint:gosec // the size of a block
	if free < gib {
		return fmt.Errorf("%s has %d GiB of free disk, and about %d GiB are needed: free some, or set HYPERSHIFT_CACHE, GOCACHE and GOMODCACHE to a larger disk", dir, free, gib)
	}
	return nil
}
