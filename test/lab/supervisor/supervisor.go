package supervisor

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/storage"
)

// supervisor is a lab.
type supervisor struct {
	options  cluster.Options
	up       chan struct{} // closed when all of it runs
	progress *progress
	servers  *servers
	machines *machines
	cloud    *cloud.Cloud // nil: no cloud
	first    *management
	second   secondCluster
}

// Run runs the lab in dir until it is killed, or could not start.
func Run(ctx context.Context, dir string) error {
	options, err := cluster.ReadOptions(dir)
	if err != nil {
		return err
	}
	s := &supervisor{options: options, up: make(chan struct{}), progress: newProgress(), servers: &servers{dir: dir}}
	s.machines = &machines{lab: s, known: map[string]*machine{}, clusters: map[string]*joined{}}
	s.first = &management{supervisor: s, dir: dir, addresses: addresses{
		apiServer: cluster.APIServerAddress, pods: cluster.PodNetwork, services: cluster.ServiceNetwork, service: "10.57.0.1", dns: cluster.ClusterDNS,
	}}
	if err := s.listen(); err != nil {
		return err
	}
	start := inSequence(
		func(context.Context) error { return layNetwork() },
		s.first.certify,
		s.startRegistry,
		inParallel(s.first.startControlPlane, s.startCloud),
		s.first.startStorage,
		s.first.startCloudController,
	)
	if err := start(ctx); err != nil {
		return err
	}
	close(s.up)
	s.progress.end()
	<-ctx.Done()
	return nil
}

// step is a step of the start.
type step = func(context.Context) error

func inSequence(steps ...step) step {
	return func(ctx context.Context) error {
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

func inParallel(steps ...step) step {
	return func(ctx context.Context) error {
		// The context of an errgroup is canceled when the group is done, but the components must continue.
		var all errgroup.Group
		for _, step := range steps {
			all.Go(func() error { return step(ctx) })
		}
		return all.Wait()
	}
}

// disks is the directory of the disks of pods.
const disks = "volumes"

// startStorage starts the provisioner and the attacher of volumes.
func (m *management) startStorage(ctx context.Context) error {
	delay := storage.AttachDelay
	if m.options.InstantVolumes {
		delay = 0
	}
	go func() {
		if err := storage.Run(ctx, m.admin, m.path(disks), delay); err != nil {
			m.report("%v", err)
		}
	}()
	return nil
}

func (s *supervisor) path(elements ...string) string {
	return filepath.Join(append([]string{s.options.Dir}, elements...)...)
}

// report reports a step of the start.
func (s *supervisor) report(format string, args ...any) { s.progress.add(fmt.Sprintf(format, args...)) }

// connect permits machines to join a management cluster, before the controllers start that would reject them.
func (m *management) connect(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig(m.dir))
	if err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	config.QPS = -1
	m.admin = config
	m.joined, err = m.machines.join(ctx, m, "")
	return err
}
