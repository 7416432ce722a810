package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hosted-control-planes/hypershift/hack/images/rootfs"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	machineos "github.com/hosted-control-planes/hypershift/test/lab/machine"
	"github.com/hosted-control-planes/hypershift/test/lab/vpc"
)

// bootable are the machine images that the lab supports.
var bootable = map[string]machineImage{
	awsemulator.ImageAMD64:            {root: rootfs.Ignition},
	awsemulator.ImageAMD64Older:       {root: rootfs.CloudInit},
	awsemulator.ImageAMD64WithKubelet: {root: rootfs.Ignition, kubelet: true},
	awsemulator.ImageAMD64Ubuntu:      {root: rootfs.UbuntuLike},
}

// machineImage is a root file system, with or without the programs of a node in the lab's version.
type machineImage struct {
	root    string
	kubelet bool
}

// followWorkers creates a machine for each instance of a customer, and removes it with the instance. It does not read the
// clusters that the machines join.
func (s *supervisor) followWorkers(ctx context.Context) {
	go s.cloud.FollowWorkers(ctx, s.progress, s.machines.employ)
}

// employ reconciles the machines with the running instances.
func (all *machines) employ(ctx context.Context, running []cloud.Worker) error {
	wanted := map[string]cloud.Worker{}
	for _, w := range running {
		wanted[w.ID] = w
	}
	var errs []error
	for _, m := range all.list() {
		if m.worker == nil {
			continue
		}
		if _, runs := wanted[m.worker.ID]; !runs {
			errs = append(errs, all.remove(m.Name))
			all.lab.reportEvent("instance %s has ended, its machine is removed", m.Name)
		}
		delete(wanted, m.worker.ID)
	}
	for _, w := range wanted {
		errs = append(errs, all.launch(ctx, w))
	}
	return errors.Join(errs...)
}

// reportEvent prints events while the lab runs.
func (s *supervisor) reportEvent(format string, args ...any) {
	fmt.Fprintf(s.progress, format+"\n", args...)
}

// launch creates the machine of an instance, and turns it on.
func (all *machines) launch(ctx context.Context, w cloud.Worker) error {
	if bootable[w.Image].root == "" {
		return fmt.Errorf("instance %s of account %s boots from %s, which no machine of the lab can", w.ID, w.Account, w.Image)
	}
	attached, err := all.lab.cloud.Network().Attachment(ctx, w.ID)
	if err != nil {
		return fmt.Errorf("launching instance %s: %w", w.ID, err)
	}
	m, err := all.make(cluster.MachineOptions{
		Name: w.ID, Zone: w.Zone, InstanceType: w.Type, InstanceID: w.ID, MemoryMiB: all.lab.options.MemoryMiB,
	}, nil, nil)
	if err != nil {
		return fmt.Errorf("launching instance %s: %w", w.ID, err)
	}
	m.worker, m.spec = &w, all.lab.specifyWorker(w, attached)
	err = os.MkdirAll(m.spec.Dir, 0o755)
	if err == nil {
		err = m.spec.Write()
	}
	if err == nil {
		err = all.lab.cloud.AWS.SetConsole(ctx, w.ID, m.console())
	}
	if err == nil {
		err = all.start(m.Name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("launching instance %s: %w", w.ID, err), all.remove(m.Name))
	}
	all.lab.reportEvent("instance %s of account %s runs as %s", w.ID, w.Account, w.Hostname)
	return nil
}

// specifyWorker returns the configuration of a machine for an instance: its network. Everything else is in its user data.
func (s *supervisor) specifyWorker(w cloud.Worker, at vpc.Attachment) machineos.Spec {
	image := bootable[w.Image]
	return machineos.Spec{
		Name: w.ID, Lab: s.options.Dir, Dir: s.path("machines", w.ID),
		VPC: true, Address: at.Address.String(), Gateway: at.Gateway.String(), DNS: at.DNS.String(), Search: at.Domain,
		MemoryMiB: s.options.MemoryMiB,
		Registry:  cluster.Registry, Pause: cluster.Registry + "/pause:lab",
		Instance: &machineos.Instance{
			Hostname: w.Hostname, Root: s.path(cluster.Roots, image.root), Ignition: image.root == rootfs.Ignition, Resolved: image.root == rootfs.UbuntuLike, Kubelet: image.kubelet,
		},
	}
}
