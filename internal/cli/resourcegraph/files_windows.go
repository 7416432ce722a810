package resourcegraph

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile fails at once if another process holds the lock, which is on the first byte. Windows releases it when the process ends, however
// it ends.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}

// syncDirectory is empty: Windows does not flush directories, and NTFS writes a rename into its journal.
func syncDirectory(string) error { return nil }
