package supervisor

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// Boot is pid 1 of the lab in dir until the supervisor starts. It does not return: it execs the program that reaps.
func Boot(dir string, reaper ...string) error {
	if err := namespace.Await(); err != nil {
		return err
	}
	cache, err := pinned.CacheDir()
	if err != nil {
		return fmt.Errorf("booting the lab: %w", err)
	}
	resolv := filepath.Join(dir, "resolv.conf")
	for _, step := range []func() error{
		namespace.Detach,
		namespace.MountProc,
		// Files in this directory are removed with the lab.
		func() error { return namespace.Cover(filepath.Join(dir, "tmp"), "/tmp", dir, cache) },
		func() error { return os.Chmod("/tmp", 0o777|os.ModeSticky) },
		func() error { return os.WriteFile(resolv, []byte("nameserver "+cluster.SwitchAddress+"\n"), 0o644) },
		func() error { return namespace.Bind(resolv, "/etc/resolv.conf") },
		func() error { return unix.Exec(reaper[0], reaper, os.Environ()) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("booting the lab: %w", err)
		}
	}
	return nil
}
