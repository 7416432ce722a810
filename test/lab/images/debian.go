package images

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	packages "github.com/hosted-control-planes/hypershift/test/fixture/debian"
)

// debian is a tree with the content of Debian packages.
type debian struct{ root string }

func unpackDebian(ctx context.Context, cache string, set packages.Set) (debian, error) {
	root, err := set.Unpack(ctx, cache)
	return debian{root: root}, err
}

// find returns the file at a path, with links resolved inside the tree. Releases of Debian differ below /usr.
func (d debian) find(path string) (string, bool) {
	for _, path := range []string{path, "/usr" + path} {
		at := filepath.Join(d.root, path)
		for range 8 {
			info, err := os.Lstat(at)
			if err != nil {
				break
			}
			if info.Mode()&fs.ModeSymlink == 0 {
				return at, true
			}
			to, err := os.Readlink(at)
			if err != nil {
				break
			}
			if filepath.IsAbs(to) {
				at = filepath.Join(d.root, to)
			} else {
				at = filepath.Join(filepath.Dir(at), to)
			}
		}
	}
	return "", false
}

// library returns the path of a shared library in an image. It is in the default search path of the dynamic linker.
func (d debian) library(name string) (path, source string, found bool) {
	for _, dir := range []string{"/lib", "/usr/lib"} {
		at, err := filepath.Glob(filepath.Join(d.root, dir, "*-linux-gnu*", name))
		if err != nil || len(at) == 0 {
			continue
		}
		path = strings.TrimPrefix(at[0], d.root)
		source, found = d.find(path)
		return path, source, found
	}
	return "", "", false
}

// closure adds the dynamic linker and the libraries that the files need, recursively.
func (d debian) closure(files []file) ([]file, error) {
	have := map[string]bool{}
	for i := 0; i < len(files); i++ { // files grows
		if files[i].source == "" {
			continue
		}
		needs, err := needed(files[i].source)
		if err != nil {
			return nil, fmt.Errorf("looking for the libraries of %s: %w", files[i].path, err)
		}
		for _, need := range needs {
			if have[need] {
				continue
			}
			have[need] = true
			path, source, found := need, "", false
			if filepath.IsAbs(need) {
				source, found = d.find(need)
			} else {
				path, source, found = d.library(need)
			}
			if !found {
				return nil, fmt.Errorf("%s needs %s, which is in none of the packages", files[i].path, need)
			}
			files = append(files, file{path: path, source: source, mode: 0o755})
		}
	}
	return files, nil
}

// needed returns the libraries that a program or library needs, and the path of its dynamic linker. Other files need
// no libraries.
func needed(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if text := new(elf.FormatError); errors.As(err, &text) {
		return nil, nil // not an ELF file
	}
	if err != nil {
		return nil, err
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	// The linker is referenced by path, not among the libraries.
	libraries = slices.DeleteFunc(libraries, func(name string) bool { return strings.HasPrefix(name, "ld-linux") })
	if linker := f.Section(".interp"); linker != nil {
		text, err := linker.Data()
		if err != nil {
			return nil, err
		}
		libraries = append(libraries, strings.TrimRight(string(text), "\x00"))
	}
	return libraries, nil
}

// fromDebian is a layer of programs: path in a package -> path in the image. An empty value means the same path.
func fromDebian(programs map[string]string, links map[string]string) source {
	return func(_ context.Context, w *workshop) ([]file, error) {
		tree, err := w.debian()
		if err != nil {
			return nil, err
		}
		return tree.layer(programs, links)
	}
}

// proxy is a layer with HAProxy at the path of the upstream image.
func proxy(_ context.Context, w *workshop) ([]file, error) {
	tree, err := w.haproxy()
	if err != nil {
		return nil, err
	}
	return tree.layer(map[string]string{"/usr/sbin/haproxy": "/usr/local/sbin/haproxy"}, nil)
}

// prometheus is a layer with Prometheus at the path of the upstream image.
func prometheus(ctx context.Context, w *workshop) ([]file, error) {
	tree, err := unpackDebian(ctx, w.cache, packages.Prometheus)
	if err != nil {
		return nil, err
	}
	return tree.layer(map[string]string{"/usr/bin/prometheus": "/bin/prometheus"}, nil)
}

func (d debian) layer(programs map[string]string, links map[string]string) ([]file, error) {
	var files []file
	for from, to := range programs {
		at, err := filepath.Glob(filepath.Join(d.root, from))
		if err != nil || len(at) == 0 {
			return nil, fmt.Errorf("no package has %s", from)
		}
		for _, at := range at {
			path := strings.TrimPrefix(at, d.root)
			source, found := d.find(path)
			if !found {
				return nil, fmt.Errorf("no package has %s", path)
			}
			files = append(files, file{path: cmp.Or(to, path), source: source, mode: 0o755})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	files, err := d.closure(files)
	for path, to := range links {
		files = append(files, file{path: path, link: to, mode: 0o777})
	}
	return files, err
}
