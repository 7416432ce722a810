package cluster

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
)

// On a host of version 2 of cgroups somebody may have started containers meanwhile, which use the controllers that the lab has asked for.
func TestWhatOthersUseIsLeftToThem(t *testing.T) {
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
		t.Errorf("the lab could never be taken down: %v", err)
	}
	if !slices.Equal(written, []string{"b"}) {
		t.Errorf("written: %v", written)
	}
	if err := s.restore(func(string, []byte, fs.FileMode) error { return syscall.EACCES }); !errors.Is(err, syscall.EACCES) {
		t.Errorf("what could not be put back is not said: %v", err)
	}
}
