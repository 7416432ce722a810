package supervisor

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/fixture/cloudcontroller"
	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// machineNetwork is the network of the machines.
var machineNetwork = netip.MustParsePrefix(cluster.MachineNetwork)

// startCloud starts the AWS emulator, load balancers and the resolver.
func (s *supervisor) startCloud(ctx context.Context) (err error) {
	if !s.options.Cloud {
		return nil
	}
	s.cloud, err = cloud.Start(ctx, cloud.Options{
		Host:    cluster.SwitchAddress,
		Network: machineNetwork, Balancers: netip.MustParsePrefix(cluster.BalancerNetwork),
		Services:     []netip.AddrPort{netip.MustParseAddrPort(cluster.Registry)},
		ControlPlane: netip.MustParseAddr(cluster.APIServerAddress),
		IdleTimeout:  s.options.IdleTimeout,
		Dir:          s.options.Dir, Progress: s.progress,
	})
	if err != nil {
		return fmt.Errorf("starting the cloud: %w", err)
	}
	s.first.account = s.cloud.Management
	s.followWorkers(ctx)
	s.report("AWS emulator at %s, DNS at %s", s.cloud.AWS.URL, s.cloud.Status().DNS)
	return nil
}

// startCloudController starts the cloud-controller-manager.
func (m *management) startCloudController(ctx context.Context) error {
	if m.cloud == nil {
		return nil
	}
	if err := fixture.Apply(ctx, m.admin, cloudcontroller.RBAC); err != nil {
		return fmt.Errorf("starting the cloud-controller-manager: %w", err)
	}
	spec, health, err := m.cloud.Controller(m.account, m.servers.program(cloudcontroller.Name), m.path("pki", cloudcontroller.Name), m.path("pki"))
	if err != nil {
		return err
	}
	return m.start(ctx, health, spec)
}

// instantiate creates the instance of a machine of the management cluster in the cloud.
func (s *supervisor) instantiate(ctx context.Context, m *machine) error {
	if s.cloud == nil || m.of == nil || m.InstanceID != "" {
		return nil
	}
	made, err := s.cloud.RunInstance(ctx, m.of.account, awsemulator.InstanceOptions{
		Name: m.Name, Zone: m.Zone, Type: m.InstanceType, Address: m.address().String(),
	})
	if err != nil {
		return fmt.Errorf("making its instance: %w", err)
	}
	m.InstanceID, m.ExternalCloud, m.instantiated = made.ID, true, true
	return nil
}

// attach configures the network of a machine that is an instance: the network of its VPC.
func (s *supervisor) attach(ctx context.Context, m *machine) error {
	if !m.instantiated {
		return nil
	}
	at, err := s.cloud.Network().Attachment(ctx, m.InstanceID)
	if err != nil {
		return err
	}
	m.spec.VPC, m.spec.Address, m.spec.Gateway = true, at.Address.String(), at.Gateway.String()
	m.spec.DNS, m.spec.Search = at.DNS.String(), at.Domain
	return nil
}

// terminate terminates the instance that instantiate has created.
func (s *supervisor) terminate(m *machine) error {
	if !m.instantiated {
		return nil
	}
	return s.cloud.TerminateInstance(context.Background(), m.InstanceID)
}
