package pinned

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Ensure builds those of the named binaries that are missing and returns the path of each. Progress is one line per event,
// and one every few seconds while a build runs.
func Ensure(ctx context.Context, progress io.Writer, names ...string) (map[string]string, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(cache, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}

	paths := map[string]string{}
	missing, err := plan(root, bin, names, paths)
	if err != nil || len(missing) == 0 {
		return paths, err
	}
	unlock, err := lock(ctx, progress, bin)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// While we waited for the lock its holder may have built what we miss.
	if missing, err = plan(root, bin, names, paths); err != nil {
		return nil, err
	}
	for i, j := range missing {
		j.progress, j.place = progress, fmt.Sprintf("[%d/%d]", i+1, len(missing))
		if err := j.build(ctx); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// plan fills paths and returns the jobs whose result is not there.
func plan(root, bin string, names []string, paths map[string]string) ([]job, error) {
	var missing []job
	for _, name := range names {
		b, err := find(name)
		if err != nil {
			return nil, err
		}
		p, err := read(root, b.module)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(bin, p.key, name)
		paths[name] = path
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, job{binary: b, pin: p, path: path})
		}
	}
	return missing, nil
}
