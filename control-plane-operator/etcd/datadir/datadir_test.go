package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestHasLog(t *testing.T) {
	for name, c := range map[string]struct {
		given func(dir string) error
		want  bool
	}{
		"a volume that was never used":                  {func(string) error { return nil }, false},
		"a directory without a log":                     {func(dir string) error { return os.MkdirAll(filepath.Join(dir, "member", "snap"), 0o700) }, false},
		"a log that etcd was writing the first file of": {func(dir string) error { return put(dir, "0.wal.tmp") }, false},
		"a log": {func(dir string) error { return put(dir, "0-0.wal") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := c.given(dir); err != nil {
				t.Fatal(err)
			}
			if got, err := HasLog(dir); got != c.want || err != nil {
				t.Errorf("got %t, %v", got, err)
			}
		})
	}
}

func TestHolds(t *testing.T) {
	for name, c := range map[string]struct {
		restore, marked string
		want            bool
	}{
		"data, and no restore":            {"", "", true},
		"data of a restore, and no other": {"", "a", true},
		"data of this restore":            {"a", "a", true},
		"data of an earlier restore":      {"a", "b", false},
		"data from before all restores":   {"a", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if got, err := Holds(dir, c.restore); got || err != nil {
				t.Errorf("without data: %t, %v", got, err)
			}
			if err := put(dir, "0-0.wal"); err != nil {
				t.Fatal(err)
			}
			if c.marked != "" {
				if err := MarkUnpacked(dir, c.marked); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := HoldsUnpacked(dir, c.restore); got != c.want || err != nil {
				t.Errorf("unpacked: %t, %v", got, err)
			}
			if got, err := Holds(dir, c.restore); got != c.want || err != nil {
				t.Errorf("got %t, %v", got, err)
			}
			if err := MarkJoined(dir, "joined"); err != nil {
				t.Fatal(err)
			}
			if got, err := Holds(dir, "joined"); !got || err != nil {
				t.Errorf("a member that has joined: %t, %v", got, err)
			}
			if got, err := HoldsUnpacked(dir, "joined"); got || err != nil {
				t.Errorf("a member that has joined has unpacked nothing: %t, %v", got, err)
			}
		})
	}
}

// A file in place of a directory fails for every user. An I/O error of the disk leads to the same effect.
func TestUnreadableDirectoryIsNotEmpty(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "member"), 0o700), os.WriteFile(filepath.Join(dir, "member", "wal"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, err := HasLog(dir); err == nil {
		t.Errorf("got %t without an error", got)
	}
}

func TestRemoveIsIdempotentAfterAnInterruption(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "restored")
	if err := errors.Join(put(dir, "0-0.wal"), put(dir+".unwanted", "0-0.wal")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

func put(dir, name string) error {
	wal := filepath.Join(dir, "member", "wal")
	return errors.Join(os.MkdirAll(wal, 0o700), os.WriteFile(filepath.Join(wal, name), nil, 0o600))
}
