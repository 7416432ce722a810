package supervisor

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// supervisor is a lab.
type supervisor struct {
	options  cluster.Options
	news     *news
	servers  *servers
	pki      *pki
	admin    *rest.Config // of the management cluster
	machines *machines
}

// Run runs the lab in dir until it is killed, or could not start.
func Run(ctx context.Context, dir string) error {
	options, err := cluster.ReadOptions(dir)
	if err != nil {
		return err
	}
	s := &supervisor{options: options, news: newNews(), servers: &servers{dir: dir}}
	s.machines = &machines{lab: s, known: map[string]*machine{}, clusters: map[string]*joined{}}
	if err := s.listen(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		func(context.Context) error { return layNetwork() },
		s.certify,
		s.startRegistry,
		s.startEtcd,
		s.startAPIServer,
		s.startControllers,
		s.connect,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.news.end()
	<-ctx.Done()
	return nil
}

func (s *supervisor) path(elements ...string) string {
	return filepath.Join(append([]string{s.options.Dir}, elements...)...)
}

// say reports something that has happened on the way up.
func (s *supervisor) say(format string, args ...any) { s.news.add(fmt.Sprintf(format, args...)) }

func (s *supervisor) connect(context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig(s.options.Dir))
	if err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	config.QPS = -1
	s.admin = config
	return nil
}
