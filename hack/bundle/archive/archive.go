// Package archive packs files of the cache directory into one file, and unpacks them into the cache of another machine.
//
// The file is a tar archive with zstd. Its first entry, bundle.json, lists the others with checksums. Beside it, FILE.sha256 is its
// checksum in the form of sha256sum: the checksum of an archive that was downloaded with it, or signed.
package archive

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// list is the first entry of an archive.
const list = "bundle.json"

// Bundle describes an archive.
type Bundle struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// CLibrary is the version of the C library of the machine that packed it.
	CLibrary string  `json:"cLibrary"`
	Entries  []Entry `json:"entries"`
	// LeftOut are the entries that Unpack has left out, because this machine has another C library.
	LeftOut []string `json:"-"`
}

// Entry is a file or a directory.
type Entry struct {
	// Path is relative to the cache directory.
	Path string `json:"path"`
	// SHA256 is the checksum of a file. A directory has none of its own: the checksum of the archive covers it.
	SHA256 string `json:"sha256,omitempty"`
	// Dynamic is true for a program that the C library of the machine loads, such as Ignition.
	Dynamic bool `json:"dynamic,omitempty"`
}

// Pack writes paths of the cache directory to file and its checksum to file.sha256. A path may be a directory.
func Pack(ctx context.Context, cache, file string, paths []string) (Bundle, error) {
	b := Bundle{OS: runtime.GOOS, Arch: runtime.GOARCH, CLibrary: cLibrary(ctx)}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		e, err := entry(cache, path)
		if err != nil {
			return b, fmt.Errorf("packing %s: %w", path, err)
		}
		b.Entries = append(b.Entries, e)
	}
	if err := b.write(ctx, cache, file); err != nil {
		return b, fmt.Errorf("packing %s: %w", file, err)
	}
	return b, nil
}

func entry(cache, path string) (Entry, error) {
	relative, err := filepath.Rel(cache, path)
	if err != nil || !filepath.IsLocal(relative) {
		return Entry{}, fmt.Errorf("it is not below the cache directory %s", cache)
	}
	e := Entry{Path: relative}
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return e, err
	}
	e.Dynamic = isDynamic(path)
	e.SHA256, err = checksum(path)
	return e, err
}

// isDynamic reports whether a file is a program with an interpreter, which is the loader of the C library.
func isDynamic(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// cLibrary is the version of the C library of this machine, such as "glibc 2.36", or "".
func cLibrary(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "getconf", "GNU_LIBC_VERSION").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return checksumOf(f)
}

func checksumOf(f io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// write runs tar, which keeps owners, hard links and extended attributes.
func (b Bundle) write(ctx context.Context, cache, file string) error {
	work, err := os.MkdirTemp("", "bundle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, list), text, 0o644); err != nil {
		return err
	}
	args := []string{"--create", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--sort=name", "--directory", work, list, "--directory", cache}
	for _, e := range b.Entries {
		args = append(args, e.Path)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	unfinished := file + ".unfinished"
	defer os.Remove(unfinished)
	sum, err := compressed(unfinished, func(to io.Writer) error { return tar(ctx, nil, to, args...) })
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s  %s\n", sum, filepath.Base(file))
	return errors.Join(os.WriteFile(file+".sha256", []byte(line), 0o644), os.Rename(unfinished, file))
}

// compressed writes a file and returns its checksum.
func compressed(file string, fill func(io.Writer) error) (sum string, err error) {
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	z, err := zstd.NewWriter(io.MultiWriter(f, h), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return "", err
	}
	if err := errors.Join(fill(z), z.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func tar(ctx context.Context, from io.Reader, to io.Writer, args ...string) error {
	var failed strings.Builder
	cmd := exec.CommandContext(ctx, "tar", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = from, to, &failed
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tar: %w\n%s", err, failed.String())
	}
	return nil
}

// Unpack checks an archive and moves its entries into the cache directory. Entries that are there already stay. After an error the cache is
// as it was, or lacks entries; it has none that is not complete.
func Unpack(ctx context.Context, cache, file string) (Bundle, error) {
	b, err := unpack(ctx, cache, file)
	if err != nil {
		return b, fmt.Errorf("unpacking %s: %w", file, err)
	}
	return b, nil
}

func unpack(ctx context.Context, cache, file string) (Bundle, error) {
	// It is checked and extracted through one open file, so that it cannot be replaced in between.
	f, err := os.Open(file)
	if err != nil {
		return Bundle{}, err
	}
	defer f.Close()
	if err := verify(f); err != nil {
		return Bundle{}, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Bundle{}, err
	}
	work, err := os.MkdirTemp(cache, ".unfinished-")
	if err != nil {
		return Bundle{}, err
	}
	defer os.RemoveAll(work)
	if err := extract(ctx, f, work); err != nil {
		return Bundle{}, err
	}
	if err := (Entry{Path: list}).isPlain(work); err != nil {
		return Bundle{}, fmt.Errorf("it is not a bundle: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(work, list))
	if err != nil {
		return Bundle{}, err
	}
	var b Bundle
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fmt.Errorf("reading %s: %w", list, err)
	}
	if b.OS != runtime.GOOS || b.Arch != runtime.GOARCH {
		return b, fmt.Errorf("it is for %s/%s, and this machine is %s/%s", b.OS, b.Arch, runtime.GOOS, runtime.GOARCH)
	}
	for _, e := range b.Entries {
		if err := e.check(work); err != nil {
			return b, err
		}
	}
	same := b.CLibrary == cLibrary(ctx)
	for _, e := range b.Entries {
		if e.Dynamic && !same {
			b.LeftOut = append(b.LeftOut, e.Path)
			continue
		}
		if err := e.move(work, cache); err != nil {
			return b, err
		}
	}
	return b, nil
}

// verify compares the file with its checksum beside it.
func verify(f *os.File) error {
	line, err := os.ReadFile(f.Name() + ".sha256")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s.sha256, which belongs to it: download both", filepath.Base(f.Name()))
	}
	if err != nil {
		return err
	}
	want, _, _ := strings.Cut(string(line), " ")
	got, err := checksumOf(f)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("its checksum is %s, and %s.sha256 has %s: download it again", got, filepath.Base(f.Name()), want)
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

func extract(ctx context.Context, f io.Reader, to string) error {
	if err := pinned.CheckDisk(to, diskGiB); err != nil {
		return err
	}
	z, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer z.Close()
	return tar(ctx, z, nil, "--extract", "--numeric-owner", "--same-owner", "--same-permissions", "--xattrs", "--xattrs-include=*", "--directory", to)
}

// diskGiB is the free disk that the programs and the root file systems of the lab need.
const diskGiB = 5

func (e Entry) check(work string) error {
	if !filepath.IsLocal(e.Path) {
		return fmt.Errorf("%s is not below the cache directory", e.Path)
	}
	if err := e.isPlain(work); err != nil || e.SHA256 == "" {
		return err
	}
	got, err := checksum(filepath.Join(work, e.Path))
	if err == nil && got != e.SHA256 {
		err = fmt.Errorf("%s has the checksum %s, and should have %s", e.Path, got, e.SHA256)
	}
	return err
}

// isPlain fails if the entry, or a directory above it, is a symbolic link: it would lead out of the archive.
func (e Entry) isPlain(work string) error {
	path := work
	for part := range strings.SplitSeq(e.Path, string(filepath.Separator)) {
		path = filepath.Join(path, part)
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory", e.Path)
		}
	}
	return nil
}

func (e Entry) move(work, cache string) error {
	to := filepath.Join(cache, e.Path)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.Rename(filepath.Join(work, e.Path), to)
}
