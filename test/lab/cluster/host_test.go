package cluster

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
)

// On a host with cgroups version 2, containers that were started meanwhile may use the controllers that the lab has
// enabled.
func TestSettingsInUseByOthersAreKept(t *testing.T) {
	s := &state{Settings: []cgroup.Setting{{File: "a", Before: "-cpu"}, {File: "b", Before: "128"}}}
	var written []string
	refuse := func(file string, _ []byte, _ fs.FileMode) error {
		if file == "a" {
			return &fs.PathError{Op: "write", Path: file, Err: syscall.EBUSY}
		}
		written = append(written, file)
		return nil
	}
	if err := s.restore(refuse); err != nil {
		t.Errorf("restoring the settings must not fail: %v", err)
	}
	if !slices.Equal(written, []string{"b"}) {
		t.Errorf("written: %v", written)
	}
	if err := s.restore(func(string, []byte, fs.FileMode) error { return syscall.EACCES }); !errors.Is(err, syscall.EACCES) {
		t.Errorf("the setting that could not be restored is not reported: %v", err)
	}
}
