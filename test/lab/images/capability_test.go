package images

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel refuses a program in a container that drops its file capability. The layer of the lab carries the attribute of the
// published image, as a container runtime unpacks it.
func TestProgramDoesNotStartWithoutItsFileCapability(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root sets file capabilities")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	i := table()[slices.IndexFunc(table(), func(i image) bool { return i.name == "kube-apiserver" })]
	files := []file{{path: i.programs[0].path, source: self, mode: 0o755}}
	if err := i.conform(files); err != nil {
		t.Fatal(err)
	}
	program := unpackProgram(t, layerOf(t, shelf{t.TempDir()}, files...).Uncompressed)
	for name, tc := range map[string]struct {
		kept []uintptr
		want error
	}{
		"drop ALL":                         {nil, syscall.EPERM},
		"drop ALL, add NET_BIND_SERVICE":   {[]uintptr{unix.CAP_NET_BIND_SERVICE}, nil},
		"drop ALL, add another capability": {[]uintptr{unix.CAP_NET_RAW}, syscall.EPERM},
	} {
		if err := startBounded(program, tc.kept); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// unpackProgram unpacks the one file of a layer, with its extended attribute.
func unpackProgram(t *testing.T, content func() (io.ReadCloser, error)) string {
	t.Helper()
	in, err := content()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	archive := tar.NewReader(in)
	header, err := archive.Next()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, os.FileMode(header.Mode))
	if err == nil {
		_, err = io.Copy(out, archive)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(dir), dir} { // for another user
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Flags&unix.ST_NOSUID != 0 {
		t.Skip("the file system ignores file capabilities")
	}
	if err := unix.Setxattr(path, "security.capability", []byte(header.PAXRecords[capabilityRecord]), 0); err != nil {
		t.Skipf("file capabilities cannot be set here: %v", err)
	}
	return path
}

// startBounded runs a program as a restricted container does: with a bounding set, without new privileges, as another user than root.
func startBounded(program string, kept []uintptr) error {
	done := make(chan error)
	go func() {
		// The thread ends with this goroutine, because it stays locked. It cannot get the capabilities back.
		runtime.LockOSThread()
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			if !slices.Contains(kept, c) {
				// The kernel may be older, and not know the last capabilities.
				if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, syscall.EINVAL) {
					done <- err
					return
				}
			}
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			done <- err
			return
		}
		cmd := exec.Command(program, "-test.run=^$")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		cmd.Dir = "/"
		done <- cmd.Run()
	}()
	return <-done
}
