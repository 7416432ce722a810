package archive

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cached is a cache directory with a program and a root file system.
func cached(t *testing.T) (cache string, paths []string) {
	t.Helper()
	cache = t.TempDir()
	for path, text := range map[string]string{"bin/etcd-v3/etcd": "program", "bin/etcd-v3/.lock": "", "machines/debian/root/etc/passwd": "root", "machines/debian/packages": "list"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(cache, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(cache, path), []byte(text), 0o755))
	}
	root := filepath.Join(cache, "machines/debian/root")
	must(t, os.Chmod(filepath.Join(root, "etc/passwd"), 0o4711))
	must(t, os.Symlink("/etc/passwd", filepath.Join(root, "link")))
	must(t, os.Link(filepath.Join(root, "etc/passwd"), filepath.Join(root, "hard")))
	must(t, os.Symlink("/etc", filepath.Join(root, "etc-link")))
	return cache, []string{filepath.Join(cache, "bin/etcd-v3/etcd"), filepath.Join(cache, "machines/debian")}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func packed(t *testing.T) (cache, file string) {
	t.Helper()
	cache, paths := cached(t)
	file = filepath.Join(t.TempDir(), "lab.tar.zst")
	_, err := Pack(t.Context(), cache, file, paths)
	must(t, err)
	return cache, file
}

func TestUnpackedFilesAreThoseThatWerePacked(t *testing.T) {
	from, file := packed(t)
	to := filepath.Join(t.TempDir(), "cache")
	b, err := Unpack(t.Context(), to, file)
	must(t, err)
	if len(b.Entries) != 2 {
		t.Errorf("entries %v", b.Entries)
	}
	for _, path := range []string{"bin/etcd-v3/etcd", "machines/debian/root/etc/passwd", "machines/debian/root/hard", "machines/debian/packages"} {
		want, err := os.ReadFile(filepath.Join(from, path))
		must(t, err)
		got, err := os.ReadFile(filepath.Join(to, path))
		must(t, err)
		before, err := os.Stat(filepath.Join(from, path))
		must(t, err)
		after, err := os.Stat(filepath.Join(to, path))
		must(t, err)
		if string(got) != string(want) || after.Mode() != before.Mode() {
			t.Errorf("%s: %q %v, want %q %v", path, got, after.Mode(), want, before.Mode())
		}
	}
	if target, err := os.Readlink(filepath.Join(to, "machines/debian/root/link")); err != nil || target != "/etc/passwd" {
		t.Errorf("the link is to %q, %v", target, err)
	}
	for _, path := range []string{"bin/etcd-v3/.lock", list} {
		if _, err := os.Stat(filepath.Join(to, path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is unpacked, %v", path, err)
		}
	}
	isClean(t, to)
}

// isClean fails the test if an unfinished directory is left.
func isClean(t *testing.T, cache string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(cache, ".unfinished-*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestFilesThatAreThereStay(t *testing.T) {
	_, file := packed(t)
	to := t.TempDir()
	program := filepath.Join(to, "bin/etcd-v3/etcd")
	must(t, os.MkdirAll(filepath.Dir(program), 0o755), os.WriteFile(program, []byte("mine"), 0o755))
	_, err := Unpack(t.Context(), to, file)
	must(t, err)
	if text, err := os.ReadFile(program); err != nil || string(text) != "mine" {
		t.Errorf("the program is %q, %v", text, err)
	}
}

func TestBrokenBundlesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(t *testing.T, file string)
		want   string
	}{
		"without a checksum": {func(t *testing.T, file string) { must(t, os.Remove(file+".sha256")) }, "download both"},
		"a part of a download": {func(t *testing.T, file string) {
			info, err := os.Stat(file)
			must(t, err, os.Truncate(file, info.Size()/2))
		}, "download it again"},
		"another platform":            {rewritten(func(b *Bundle) { b.Arch = "riscv64" }), "/riscv64, and this machine is "},
		"a program that was replaced": {rewritten(func(b *Bundle) { b.Entries[0].SHA256 = strings.Repeat("0", 64) }), "and should have 000"},
		"a path out of the cache":     {rewritten(func(b *Bundle) { b.Entries[0].Path = "../etcd" }), "is not below the cache directory"},
		"an entry behind a link":      {rewritten(func(b *Bundle) { b.Entries[0] = Entry{Path: "machines/debian/root/etc-link/passwd"} }), "is neither a file nor a directory"},
		"an entry that is missing":    {rewritten(func(b *Bundle) { b.Entries[1].Path = "machines/ubuntu" }), "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, file := packed(t)
			c.breaks(t, file)
			to := t.TempDir()
			_, err := Unpack(t.Context(), to, file)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			isClean(t, to)
			if _, err := os.Stat(filepath.Join(to, "bin")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("programs are unpacked, %v", err)
			}
		})
	}
}

// rewritten packs the same files again with another list.
func rewritten(change func(*Bundle)) func(*testing.T, string) {
	return func(t *testing.T, file string) {
		t.Helper()
		work := t.TempDir()
		f, err := os.Open(file)
		must(t, err)
		defer f.Close()
		must(t, extract(t.Context(), f, work))
		text, err := os.ReadFile(filepath.Join(work, list))
		must(t, err)
		var b Bundle
		must(t, json.Unmarshal(text, &b))
		change(&b)
		text, err = json.Marshal(b)
		must(t, err, os.WriteFile(filepath.Join(work, list), text, 0o644))
		sum, err := compressed(file, func(to io.Writer) error {
			return tar(t.Context(), nil, to, "--create", "--directory", work, list, "bin", "machines")
		})
		must(t, err, os.WriteFile(file+".sha256", []byte(sum+"  lab.tar.zst\n"), 0o644))
	}
}

// A program that was linked with a newer C library does not start.
func TestProgramsOfAnotherCLibraryAreLeftOut(t *testing.T) {
	_, file := packed(t)
	rewritten(func(b *Bundle) { b.CLibrary, b.Entries[0].Dynamic = "glibc 9.99", true })(t, file)
	to := t.TempDir()
	b, err := Unpack(t.Context(), to, file)
	must(t, err)
	if len(b.LeftOut) != 1 || b.LeftOut[0] != b.Entries[0].Path {
		t.Errorf("left out: %v", b.LeftOut)
	}
	if _, err := os.Stat(filepath.Join(to, b.Entries[0].Path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the program is unpacked, %v", err)
	}
	if program, err := exec.LookPath("tar"); err != nil || !isDynamic(program) {
		t.Errorf("%s is static, %v", program, err)
	}
}

func TestPathsOutsideOfTheCacheAreNotPacked(t *testing.T) {
	cache, _ := cached(t)
	_, err := Pack(t.Context(), cache, filepath.Join(t.TempDir(), "lab.tar.zst"), []string{"/etc/passwd"})
	if err == nil || !strings.Contains(err.Error(), "not below the cache directory") {
		t.Errorf("error %v", err)
	}
}
