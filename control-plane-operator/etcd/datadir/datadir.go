// Package datadir checks whether a data directory of etcd has data.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// HasLog is true when the directory contains a write-ahead log. etcd itself uses the log to distinguish a member with data
// from a new one. An unreadable directory is an error and not an empty one: a member without data is replaced.
func HasLog(dir string) (bool, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "member", "wal"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("checking %s for data of etcd: %w", dir, err)
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) == ".wal" }), nil
}

// Remove removes the directory. It renames the directory first: the process may end during the removal, and the
// remaining files could look like data.
func Remove(dir string) error {
	unwanted := dir + ".unwanted"
	if err := os.RemoveAll(unwanted); err != nil {
		return err
	}
	if err := os.Rename(dir, unwanted); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(unwanted)
}
