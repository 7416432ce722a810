// Package datadir checks whether a data directory of etcd has data, and of which restore.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// restoreFile has the ID of the restore that the data began with. A member that is restored in place has older data on its volume.
const restoreFile = "member/restore-id"

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

// Holds is true when the directory contains the data of a restore. Without an ID, any data counts.
func Holds(dir, restore string) (bool, error) {
	found, err := HasLog(dir)
	if !found || err != nil || restore == "" {
		return found, err
	}
	id, err := os.ReadFile(filepath.Join(dir, restoreFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("checking which restore the data in %s is of: %w", dir, err)
	}
	return strings.TrimSpace(string(id)) == restore, nil
}

// Mark records the ID of the restore that unpacked the directory.
func Mark(dir, restore string) error {
	if err := os.WriteFile(filepath.Join(dir, restoreFile), []byte(restore), 0o600); err != nil {
		return fmt.Errorf("recording the restore of %s: %w", dir, err)
	}
	return nil
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
