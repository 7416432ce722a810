// Package selfcopy copies the running program into a volume, so that a container with another image can run it.
package selfcopy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Install copies this program to a path. The file appears complete or not at all.
func Install(path string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the program to install: %w", err)
	}
	from, err := os.Open(self)
	if err != nil {
		return fmt.Errorf("installing the program: %w", err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.CreateTemp(filepath.Dir(path), ".install-")
	if err != nil {
		return fmt.Errorf("installing the program: %w", err)
	}
	defer func() { _ = os.Remove(to.Name()) }() // fails after the rename
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Chmod(0o755), to.Close()); err == nil {
		err = os.Rename(to.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("installing the program: %w", err)
	}
	return nil
}
