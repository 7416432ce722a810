package pinned

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// CacheDir is where everything lives that is expensive to make and the same for every checkout.
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

// Root is the top of this checkout: the first directory upwards whose go.mod is ours. Tests start in the directory of their
// package, commands mostly at the top.
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

// checkDisk fails before minutes of building do.
func checkDisk(dir string, gib uint64) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("looking for free disk in %s: %w", dir, err)
	}
	free := fs.Bavail * uint64(fs.Bsize) >> 30
	if free < gib {
		return fmt.Errorf("%s has %d GiB of free disk, and about %d GiB are needed: free some, or set HYPERSHIFT_CACHE, GOCACHE and GOMODCACHE to a larger disk", dir, free, gib)
	}
	return nil
}
