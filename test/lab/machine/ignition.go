package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// stages are the stages of Ignition for a machine without disks of its own, in their order.
var stages = []string{"fetch", "files"}

// sysroot is where Ignition finds the root file system. It writes the keys of a user as that user, which may not enter the directory
// of the lab.
const sysroot = "/mnt"

// ignite runs Ignition, which reads the user data from the metadata service and writes to the root file system. On AWS it runs
// in the initial file system of the image, here in the file system of the host.
func ignite(s Spec) error {
	root := s.path("root")
	// Ignition finds remote files by the DNS server of the machine.
	if err := namespace.Bind(filepath.Join(root, "etc/resolv.conf"), "/etc/resolv.conf"); err != nil {
		return err
	}
	// These files stay on a machine until its next boot: they are in /run.
	state := filepath.Join(root, "run/ignition")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fmt.Errorf("running Ignition: %w", err)
	}
	if err := namespace.BindTree(root, sysroot); err != nil {
		return err
	}
	for _, stage := range stages {
		cmd := exec.Command(s.program("ignition"),
			"--platform=aws", "--stage="+stage, "--root="+sysroot, "--log-to-stdout",
			"--config-cache="+filepath.Join(root, "run/ignition.json"), "--state-file="+filepath.Join(state, "state"), "--neednet="+filepath.Join(state, "neednet"))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("running stage %s of Ignition: %w", stage, err)
		}
	}
	return nil
}
