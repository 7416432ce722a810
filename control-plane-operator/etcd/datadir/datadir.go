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

// A member that is restored in place has older data on its volume. restoreFile has the ID of the restore that a directory was unpacked for,
// and joinedFile, in the parent directory, the ID of the restore of the cluster that the member has joined.
const (
	restoreFile = "member/restore-id"
	joinedFile  = "restore-id"
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

// Holds is true when the data directory contains the data of a restore, or of the cluster that began with it. Without an ID, any data counts.
func Holds(dir, restore string) (bool, error) {
	found, err := HasLog(dir)
	if !found || err != nil || restore == "" {
		return found, err
	}
	for _, file := range []string{filepath.Join(dir, restoreFile), filepath.Join(filepath.Dir(dir), joinedFile)} {
		if of, err := isOf(file, restore); of || err != nil {
			return of, err
		}
	}
	return false, nil
}

// HoldsUnpacked is true when the directory contains a snapshot that was unpacked for a restore. Without an ID, any data counts.
func HoldsUnpacked(dir, restore string) (bool, error) {
	found, err := HasLog(dir)
	if !found || err != nil || restore == "" {
		return found, err
	}
	return isOf(filepath.Join(dir, restoreFile), restore)
}

// Found returns the directory with the data of a restore: the data directory, or that of the unpacked snapshot. It is empty without one.
func Found(data, unpacked, restore string) (dir string, err error) {
	if holds, err := Holds(data, restore); holds || err != nil {
		return data, err
	}
	if holds, err := HoldsUnpacked(unpacked, restore); holds || err != nil {
		return unpacked, err
	}
	return "", nil
}

func isOf(file, restore string) (bool, error) {
	id, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("checking which restore the data is of: %w", err)
	}
	return strings.TrimSpace(string(id)) == restore, nil
}

// MarkUnpacked records the ID of the restore that the directory was unpacked for.
func MarkUnpacked(dir, restore string) error { return record(filepath.Join(dir, restoreFile), restore) }

// MarkJoined records that the data that the directory is going to have is that of the restored cluster.
func MarkJoined(dir, restore string) error {
	return record(filepath.Join(filepath.Dir(dir), joinedFile), restore)
}

func record(file, restore string) error {
	part := file + ".part"
	if err := errors.Join(os.WriteFile(part, []byte(restore), 0o600), os.Rename(part, file)); err != nil {
		return fmt.Errorf("recording the restore of the data: %w", err)
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
