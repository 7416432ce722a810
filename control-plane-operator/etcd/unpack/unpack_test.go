package unpack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newUnpacker runs a program that creates a log in the given directory, as etcdutl does.
func newUnpacker(t *testing.T) *Unpacker {
	dir := t.TempDir()
	u := &Unpacker{
		Data: filepath.Join(dir, "data"), Restored: filepath.Join(dir, "restored"), ChecksumFile: filepath.Join(dir, "sum"), Token: "clusters-demo",
		Program: []string{"/bin/sh", "-c", `d=${1#--data-dir=}; [ -e "$d" ] && exit 1; mkdir -p "$d/member/wal" && echo "$2" > "$d/member/wal/0-0.wal"`, "etcdutl"},
	}
	put(t, u.ChecksumFile, "0f1e\n")
	return u
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (u *Unpacker) log(t *testing.T) string {
	t.Helper()
	if err := u.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(u.Restored, "member", "wal", "0-0.wal"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestClusterTokenHasTheChecksum(t *testing.T) {
	if got := newUnpacker(t).log(t); got != "--initial-cluster-token=clusters-demo-0f1e\n" {
		t.Errorf("etcdutl runs with %s", got)
	}
}

func TestInterruptedAttemptIsRepeated(t *testing.T) {
	u := newUnpacker(t)
	put(t, filepath.Join(u.Restored+".part", "member", "snap", "db"), "half of it")
	put(t, filepath.Join(u.Restored, "member", "snap", "db"), "half of it, by an operator that had no .part")
	u.log(t)
	if _, err := os.Stat(u.Restored + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the volume holds it twice: %v", err)
	}
}

func TestUnpackedSnapshotIsKept(t *testing.T) {
	u := newUnpacker(t)
	put(t, filepath.Join(u.Restored, "member", "wal", "0-0.wal"), "restored")
	if got := u.log(t); got != "restored" {
		t.Errorf("it was unpacked again: %s", got)
	}
}

// The fetch container has left no snapshot.
func TestDataIsNotReplaced(t *testing.T) {
	u := newUnpacker(t)
	u.ChecksumFile = filepath.Join(t.TempDir(), "missing")
	put(t, filepath.Join(u.Data, "member", "wal", "0-0.wal"), "data")
	if err := u.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(u.Restored); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was unpacked beside data: %v", err)
	}
}

// A restore in place: the older data stays until the member uses what is unpacked.
func TestOlderDataDoesNotCount(t *testing.T) {
	u := newUnpacker(t)
	u.RestoreFile = filepath.Join(t.TempDir(), "restore.json")
	put(t, u.RestoreFile, `{"id": "b", "revisions": 17}`)
	u.Program[2] = strings.Replace(u.Program[2], `echo "$2"`, `echo "$3"`, 1)
	for _, dir := range []string{u.Data, u.Restored} {
		put(t, filepath.Join(dir, "member", "wal", "0-0.wal"), "data")
		put(t, filepath.Join(dir, "member", "restore-id"), "a")
	}
	if got := u.log(t); got != "--bump-revision=17\n" {
		t.Errorf("etcdutl runs with %s", got)
	}
	if got, err := os.ReadFile(filepath.Join(u.Data, "member", "wal", "0-0.wal")); string(got) != "data" {
		t.Errorf("the older data is %q, %v", got, err)
	}
	put(t, filepath.Join(u.Restored, "member", "wal", "0-0.wal"), "restored")
	if got := u.log(t); got != "restored" {
		t.Errorf("it was unpacked again: %s", got)
	}
}

func TestFailedUnpackingLeavesNoData(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*Unpacker)
		want  string
	}{
		"the snapshot is none": {func(u *Unpacker) {
			u.Program = []string{"/bin/sh", "-c", "mkdir -p ${0#--data-dir=}/member/wal; exit 1"}
		}, "unpacking the snapshot: exit status 1"},
		"there is no checksum": {func(u *Unpacker) { u.ChecksumFile += "-missing" }, "reading the checksum"},
		"the volume cannot be read": {func(u *Unpacker) {
			put(t, filepath.Join(u.Data, "member", "wal"), "")
		}, "checking "},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnpacker(t)
			c.given(u)
			if err := u.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, err := os.Stat(u.Restored); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a member would begin with it: %v", err)
			}
		})
	}
}
