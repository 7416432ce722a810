package pinned

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Ensure builds the missing ones of the named binaries and returns the path of each. Progress gets one line per event, and
// one every few seconds while a build runs.
func Ensure(ctx context.Context, progress io.Writer, names ...string) (map[string]string, error) {
	s, err := cached(progress)
	if err != nil {
		return nil, err
	}
	return s.ensure(ctx, names)
}

// Built reports whether a binary exists already.
func Built(name string) (bool, error) {
	s, err := cached(io.Discard)
	if err != nil {
		return false, err
	}
	_, missing, err := s.plan([]string{name})
	return len(missing) == 0, err
}

// cached is the shelf in the cache directory of this user.
func cached(progress io.Writer) (shelf, error) {
	cache, err := CacheDir()
	if err != nil {
		return shelf{}, err
	}
	root, err := Root()
	if err != nil {
		return shelf{}, err
	}
	return shelf{pins: filepath.Join(root, "hack", "binaries"), bin: filepath.Join(cache, "bin"), table: table, progress: progress}, nil
}

// shelf is a directory with built binaries.
type shelf struct {
	pins     string // directory of the module directories
	bin      string // directory of the results
	table    []binary
	progress io.Writer
}

func (s shelf) ensure(ctx context.Context, names []string) (map[string]string, error) {
	if err := os.MkdirAll(s.bin, 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	paths, missing, err := s.plan(names)
	if err != nil || len(missing) == 0 {
		return paths, err
	}
	unlock, err := Lock(ctx, s.progress, s.bin)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// Another process may have built the missing binaries while this one waited for the lock.
	if paths, missing, err = s.plan(names); err != nil {
		return nil, err
	}
	for i, j := range missing {
		j.progress, j.place = s.progress, fmt.Sprintf("[%d/%d]", i+1, len(missing))
		if err := j.build(ctx); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// plan returns the path of each binary, and the jobs for the missing ones.
func (s shelf) plan(names []string) (paths map[string]string, missing []job, err error) {
	paths = map[string]string{}
	for _, name := range names {
		b, err := find(s.table, name)
		if err != nil {
			return nil, nil, err
		}
		p, err := read(s.pins, b.module)
		if err != nil {
			return nil, nil, err
		}
		path := filepath.Join(s.bin, p.key, b.fileName())
		paths[name] = path
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, job{binary: b, pin: p, path: path})
		}
	}
	return paths, missing, nil
}
