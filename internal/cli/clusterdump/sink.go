package clusterdump

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Sink takes the files of a dump. It is safe for concurrent use.
type Sink interface {
	Write(path string, text []byte) error
	Close() error
}

type directory struct{ root string }

// NewDirectory returns a new directory. It fails if the directory contains files: the files of an earlier dump would be mistaken for
// new ones.
func NewDirectory(path string) (Sink, error) {
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("directory %s is not empty", path)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory of the dump: %w", err)
	}
	return directory{path}, nil
}

func (d directory) Write(path string, text []byte) error {
	name := filepath.Join(d.root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("writing the dump: %w", err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return fmt.Errorf("writing the dump: %w", err)
	}
	return nil
}

func (directory) Close() error { return nil }

type archive struct {
	mu   sync.Mutex
	file *os.File
	zip  *gzip.Writer
	tar  *tar.Writer
	root string
	now  time.Time
}

// NewArchive returns a new file in the format tar.gz.
func NewArchive(path string, now time.Time) (Sink, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the archive of the dump: %w", err)
	}
	zip := gzip.NewWriter(file)
	return &archive{file: file, zip: zip, tar: tar.NewWriter(zip), root: strings.TrimSuffix(filepath.Base(path), ".tar.gz"), now: now}, nil
}

func (a *archive) Write(path string, text []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.tar.WriteHeader(&tar.Header{Name: a.root + "/" + path, Mode: 0o600, Size: int64(len(text)), ModTime: a.now})
	if err == nil {
		_, err = a.tar.Write(text)
	}
	if err != nil {
		return fmt.Errorf("writing the dump: %w", err)
	}
	return nil
}

func (a *archive) Close() error {
	if err := errors.Join(a.tar.Close(), a.zip.Close(), a.file.Close()); err != nil {
		return fmt.Errorf("writing the dump: %w", err)
	}
	return nil
}

// fileName returns a name of a file for the name of an object. Objects of a hosted cluster are named by its users, and some kinds
// accept any character. Different names have different files.
func fileName(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	// Longer names are not valid in most file systems.
	if text := b.String(); len(text) <= maxName {
		return text
	}
	return b.String()[:maxName]
}

const maxName = 200
