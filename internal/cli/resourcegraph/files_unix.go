//go:build unix

package resourcegraph

import (
	"errors"
	"os"
	"syscall"
)

// lockFile fails at once if another process holds the lock. The kernel releases it when the process ends, however it ends.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// syncDirectory makes a renamed file durable.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
