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

// HasLog is true when the directory has a write-ahead log. etcd itself tells a
// member with data from a new one by that. A directory that cannot be read is an
// error and not an empty one: a member that is taken for empty is replaced.
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

// Remove removes the directory. It is renamed first: the process may end while it
// is removed, and what would be left could pass for data.
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
