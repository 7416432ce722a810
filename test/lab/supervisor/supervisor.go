package supervisor

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/storage"
)

// supervisor is a lab.
type supervisor struct {
	options   cluster.Options
	up        chan struct{} // closed when all of it is
	news      *news
	servers   *servers
	authority *authority
	admin     *rest.Config // of the management cluster
	machines  *machines
	cloud     *cloud.Cloud // nil: there is none
}

// Run runs the lab in dir until it is killed, or could not start.
func Run(ctx context.Context, dir string) error {
	options, err := cluster.ReadOptions(dir)
	if err != nil {
		return err
	}
	s := &supervisor{options: options, up: make(chan struct{}), news: newNews(), servers: &servers{dir: dir}}
	s.machines = &machines{lab: s, known: map[string]*machine{}, clusters: map[string]*joined{}}
	if err := s.listen(); err != nil {
		return err
	}
	rise := inOrder(
		func(context.Context) error { return layNetwork() },
		s.certify,
		s.startRegistry,
		together(inOrder(s.startEtcd, s.startAPIServer, s.connect, s.startControllers), s.startCloud),
		s.startStorage,
		s.startCloudController,
	)
	if err := rise(ctx); err != nil {
		return err
	}
	close(s.up)
	s.news.end()
	<-ctx.Done()
	return nil
}

// step is something on the way up.
type step = func(context.Context) error

func inOrder(steps ...step) step {
	return func(ctx context.Context) error {
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

func together(steps ...step) step {
	return func(ctx context.Context) error {
		// What they start outlives the group, and so would its context not do.
		var all errgroup.Group
		for _, step := range steps {
			all.Go(func() error { return step(ctx) })
		}
		return all.Wait()
	}
}

// startStorage gives pods volumes.
func (s *supervisor) startStorage(ctx context.Context) error {
	go func() {
		if err := storage.Run(ctx, s.admin, s.path("volumes")); err != nil {
			s.say("%v", err)
		}
	}()
	return nil
}

func (s *supervisor) path(elements ...string) string {
	return filepath.Join(append([]string{s.options.Dir}, elements...)...)
}

// say reports something that has happened on the way up.
func (s *supervisor) say(format string, args ...any) { s.news.add(fmt.Sprintf(format, args...)) }

// connect lets machines join the management cluster, before there is a controller that would turn them away.
func (s *supervisor) connect(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig(s.options.Dir))
	if err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	config.QPS = -1
	s.admin = config
	_, err = s.machines.join(ctx, "")
	return err
}
