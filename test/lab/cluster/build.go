package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/bundle/prebuilt"
	"github.com/hosted-control-planes/hypershift/hack/images/rootfs"
	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
	"github.com/hosted-control-planes/hypershift/test/lab/networkpolicy"
)

var (
	// programs run in a lab; kubectl and ctr are for debugging.
	programs = []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler",
		"kubelet", "kube-proxy", "containerd", "containerd-shim-runc-v2", "runc",
		"aws-cloud-controller-manager",
		"kubectl", "ctr",
	}
	// plugins are the CNI plugins.
	plugins = []string{"bridge", "host-local", "loopback", "portmap"}
	// firstImages are the images of every lab.
	firstImages = []string{"pause", "coredns", "busybox"}
)

// Roots is the directory with links to the root file systems of instances, by name.
const Roots = "roots"

// ignition is the program that configures instances.
const ignition = "ignition"

// Programs returns the programs of others that Up builds, also with InstancesLater.
func Programs() []string { return slices.Concat(programs, plugins, images.Programs(firstImages...)) }

// Steps returns the steps of Up that build what is missing.
func Steps() ([]steps.Step, error) {
	missing, err := pinned.Missing(append(Programs(), ignition)...)
	if err != nil {
		return nil, err
	}
	roots, err := rootfs.MissingSteps(rootfs.Names()...)
	return append(missing, roots...), err
}

// InstancesBuilt reports whether everything exists that instances need.
func InstancesBuilt() (bool, error) {
	for _, name := range rootfs.Names() {
		if built, err := rootfs.Built(name); err != nil || !built {
			return false, err
		}
	}
	return pinned.Built(ignition)
}

// PrepareInstances builds the prerequisites of node pools' machines, if the lab was started without it.
func (l *Lab) PrepareInstances(ctx context.Context, progress io.Writer) error {
	return prepareInstances(ctx, progress, l.Dir)
}

// prepareInstances puts Ignition and links to the root file systems of instances into the directory of a lab.
func prepareInstances(ctx context.Context, progress io.Writer, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, Roots), 0o755); err != nil {
		return fmt.Errorf("making the root file systems: %w", err)
	}
	for _, name := range rootfs.Names() {
		root, err := rootfs.Ensure(ctx, progress, name)
		if err != nil {
			return err
		}
		if err := os.Symlink(root, filepath.Join(dir, Roots, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making the root file systems: %w", err)
		}
	}
	paths, err := pinned.Ensure(ctx, progress, ignition)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return fmt.Errorf("making %s: %w", dir, err)
	}
	program := filepath.Join(dir, "bin", ignition)
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	return place(paths[ignition], program)
}

// build puts all programs into the directory of the lab, where all mount namespaces of the lab find them.
func (u *start) build(ctx context.Context) error {
	bin := filepath.Join(u.Dir, "bin")
	if err := u.prepare(ctx, bin); err != nil {
		return err
	}
	if err := u.buildLab(ctx, filepath.Join(bin, "lab")); err != nil {
		return err
	}
	// The same program is a CNI plugin, selected by its name.
	return place(filepath.Join(bin, "lab"), filepath.Join(bin, "cni", networkpolicy.PluginName))
}

// prepare builds the programs of others. Meanwhile it installs the emulator and the prerequisites of instances, which are mostly downloads.
func (u *start) prepare(ctx context.Context, bin string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return u.buildPrograms(ctx, bin) })
	if u.Cloud {
		// The lab has no access to the internet.
		group.Go(func() error { return awsemulator.Install(ctx, u.Progress) })
	}
	if u.Cloud && !u.InstancesLater {
		group.Go(func() error { return prepareInstances(ctx, u.Progress, u.Dir) })
	}
	return group.Wait()
}

func (u *start) buildPrograms(ctx context.Context, bin string) error {
	for dir, names := range map[string][]string{bin: programs, filepath.Join(bin, "cni"): plugins} {
		paths, err := pinned.Ensure(ctx, u.Progress, names...)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
		for name, path := range paths {
			if err := place(path, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// buildLab builds this program, unless the caller has it already.
func (u *start) buildLab(ctx context.Context, output string) error {
	if u.Program != "" {
		// A copy, not a link: a new build must not overwrite the running program.
		return copyFile(u.Program, output)
	}
	root, err := pinned.Root()
	if err != nil {
		return err
	}
	if program, err := prebuilt.Program(ctx, root, "lab"); err != nil {
		return err
	} else if program != "" {
		return copyFile(program, output)
	}
	return gobuild.Run(ctx, u.Progress, gobuild.Spec{
		Label: "compiling the lab", Dir: filepath.Join(root, "test", "lab"), Packages: []string{"github.com/hosted-control-planes/hypershift/test/lab"}, Output: output,
	})
}

// place links a file, or copies it to another file system.
func place(from, to string) error {
	if err := os.Link(from, to); err == nil {
		return nil
	}
	return copyFile(from, to)
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Close()); err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	return nil
}
