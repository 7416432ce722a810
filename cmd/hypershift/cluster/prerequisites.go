package cluster

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/prerequisites"
)

// prerequisites checks the account before anything is created in it, and resolves the zones.
func (o *createOptions) prerequisites(ctx context.Context, env operation.Environment, m *management.API, cfg aws.Config) error {
	facts := &prerequisites.Facts{}
	prerequisites.GatherZones(ctx, m, facts)
	if err := o.zones(ctx, cfg, facts); err != nil {
		return err
	}
	return operation.Report(env, []prerequisites.Result{facts.Zones()})
}

// zones resolves the zones of the network, which are names or ids. By default it is one that the management cluster serves.
func (o *createOptions) zones(ctx context.Context, cfg aws.Config, facts *prerequisites.Facts) error {
	prerequisites.GatherAvailabilityZones(ctx, cfg, facts)
	if err := facts.AWS.Errors["zones"]; err != nil {
		if o.infraJSON != "" {
			return nil // the zones of a network that exists are not resolved
		}
		return err
	}
	private := o.cluster.EndpointAccess == hyperv1.Private || o.cluster.EndpointAccess == hyperv1.PublicAndPrivate
	given := o.network.Zones
	if o.infraJSON != "" {
		given = nil
		for _, z := range o.cluster.Infra.Zones {
			given = append(given, z.Name)
		}
	}
	if len(given) == 0 {
		first, err := facts.FirstZone(private)
		if err != nil {
			return err
		}
		given = []string{first.Name}
	}
	found, err := facts.AWS.AvailabilityZones.Resolve(cfg.Region, given)
	if err != nil {
		return &operation.UsageError{Err: fmt.Errorf("--zones: %w", err)}
	}
	if o.infraJSON == "" {
		o.network.Zones = found.Names()
	}
	facts.AWS.Cluster = &prerequisites.Cluster{Private: private, Zones: found}
	return nil
}
