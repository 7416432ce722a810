package stage

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/bed/accounts"
	"github.com/hosted-control-planes/hypershift/test/bed/hostedapi"
	"github.com/hosted-control-planes/hypershift/test/bed/nodes"
)

// Machines are what the bed plays of one hosted cluster: its API server, and the machines that join it.
type Machines struct {
	API   *hostedapi.API
	Nodes *nodes.Nodes
}

// StartMachines starts the API server of a hosted cluster, and plays its machines. It takes several seconds of a core, so that
// only stories about nodes have it. It ends with the cluster, or with the stage.
func (s *Stage) StartMachines(ctx context.Context, hc *hyperv1.HostedCluster, customer *accounts.Customer) (*Machines, error) {
	server, err := s.Another(ctx)
	if err != nil {
		return nil, err
	}
	m := &Machines{}
	m.API, err = hostedapi.Start(ctx, hostedapi.Options{
		Management: s.Config,
		Server:     server,
		Dir:        s.Dir,
		Log:        filepath.Join(s.Dir, "logs", "kube-apiserver-"+names.ControlPlaneNamespace(hc.Namespace, hc.Name)+".log"),
		Progress:   s.options.Progress,
	}, hc)
	if err != nil {
		return nil, err
	}
	m.Nodes, err = nodes.Start(ctx, nodes.Options{
		EC2:      ec2.NewFromConfig(s.AWS.Config(customer.Account)),
		InfraID:  hc.Spec.InfraID,
		Address:  m.API.Address,
		Admin:    m.API.Config,
		Kubelets: kubelets,
		Progress: s.options.Progress,
	})
	if err != nil {
		m.API.Stop()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		m.Stop()
		return nil, errors.New("the stage is being struck")
	}
	s.machines = append(s.machines, m)
	go func() {
		<-m.API.Done()
		m.Nodes.Stop()
	}()
	return m, nil
}

// Stop ends both; a second call does nothing.
func (m *Machines) Stop() {
	m.Nodes.Stop()
	m.API.Stop()
}

func (s *Stage) stopMachines() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for _, m := range s.machines {
		m.Stop()
	}
}
