package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"
)

// file is an entry of an archive.
type file struct {
	name    string
	mode    fs.FileMode
	content []byte
	// link is the target of a link. Such an entry has only a name.
	link string
}

// sorted returns the files in the order of their names, so that two archives of them are equal.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// writeTar writes a compressed archive. It has no entries for directories: unpacked into /usr/local, it leaves the modes of those that exist.
func writeTar(w io.Writer, files []file, date time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range sorted(files) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: date}
		if f.link != "" {
			h = &tar.Header{Typeflag: tar.TypeSymlink, Name: f.name, Mode: 0o777, Linkname: f.link, ModTime: date}
		}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

// writeZip writes an archive for Windows, which has no links.
func writeZip(w io.Writer, files []file, date time.Time) error {
	archive := zip.NewWriter(w)
	for _, f := range sorted(files) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		h.SetMode(f.mode)
		entry, err := archive.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}
