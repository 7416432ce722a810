// Package isolated runs tests in a network namespace of their own, in which they may do everything.
package isolated

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
)

// isolated is set in the process with its own network.
const isolated = "HYPERSHIFT_TEST_ISOLATED"

// Run runs the tests of a package, to be called from TestMain, and returns the exit code. Without root, the tests run in the
// network of the caller; those that need another one call Require.
func Run(m *testing.M) int {
	if os.Getuid() != 0 {
		return m.Run()
	}
	if os.Getenv(isolated) != "" {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}
	tests := exec.Command(os.Args[0], os.Args[1:]...)
	tests.Stdin, tests.Stdout, tests.Stderr, tests.Env = os.Stdin, os.Stdout, os.Stderr, append(os.Environ(), isolated+"=yes")
	tests.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	err := tests.Run()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return failed.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Require skips a test that needs a network namespace if there is no such namespace.
func Require(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
}
