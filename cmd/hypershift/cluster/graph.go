package cluster

import (
	"context"
	"fmt"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/iam"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/infra"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	awsinfra "github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// parts returns the graph of the target: the network, the roles, and the objects in the management cluster. What the target has already is
// not a part of it. It makes no writing call.
func (t Target) parts(ctx context.Context, env operation.Environment, m *management.API) ([]operation.Part, error) {
	var parts []operation.Part
	cluster := t.Cluster
	network := func(rg.IDs) awsinfra.Output { return t.Cluster.Infra }
	if !t.GivenNetwork {
		n, err := infra.Prepare(ctx, env, t.Session, t.VPCOwner, t.AWS, t.Network)
		if err != nil {
			return nil, err
		}
		parts, network = append(parts, n.Part), n.Output
		cluster.Infra = clustermanifests.ExampleInfra(n.Spec)
	}
	if !t.GivenRoles {
		spec := t.Roles
		spec.Inputs = t.inputs()
		roles, err := iam.Prepare(ctx, env, t.Session, t.VPCOwner, t.AWS, spec)
		if err != nil {
			return nil, err
		}
		parts = append(parts, roles.Part)
		cluster.IAM = roles.Output
	}
	var created []string
	for _, p := range parts {
		for _, n := range p.Nodes {
			created = append(created, n.ID)
		}
	}
	objects := objects{existing: t.existing(m), draft: cluster, network: network, after: created}
	return append(parts, operation.Part{Nodes: objects.nodes()}), nil
}

// inputs are the ids that the policies of the roles contain: of a network that exists, or of nodes of the same graph.
func (t Target) inputs() clusteriam.Inputs {
	if t.GivenNetwork {
		n := t.Cluster.Infra
		return clusteriam.Inputs{
			VPC: clusteriam.Input{ID: n.VPCID}, PublicZone: clusteriam.Input{ID: n.PublicZoneID},
			PrivateZone: clusteriam.Input{ID: n.PrivateZoneID}, LocalZone: clusteriam.Input{ID: n.LocalZoneID},
		}
	}
	inputs := clusteriam.Inputs{VPC: clusteriam.Input{Node: awsinfra.VPC}, LocalZone: clusteriam.Input{Node: awsinfra.LocalZone}}
	if t.Network.BaseDomain != "" {
		inputs.PublicZone, inputs.PrivateZone = clusteriam.Input{Node: awsinfra.PublicZone}, clusteriam.Input{Node: awsinfra.PrivateZone}
	}
	return inputs
}

// apply creates the target. Each part that exists already is kept.
func (t Target) apply(ctx context.Context, env operation.Environment, m *management.API) error {
	// The infra ID is recorded before anything carries it.
	if err := t.record(m).save(env, t.Cluster.Namespace, t.Cluster.Name); err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "cluster %s/%s has infra ID %s\n", t.Cluster.Namespace, t.Cluster.Name, t.Network.InfraID)
	return t.run(ctx, env, m, operation.Options{Session: t.Session, Output: "text"})
}

// plan prints the resources and objects to create or change. It returns operation.ErrChanges if there are any.
func (t Target) plan(ctx context.Context, env operation.Environment, m *management.API, verbose bool) error {
	return t.run(ctx, env, m, operation.Options{Session: t.Session, Output: "text", Plan: true, Verbose: verbose})
}

func (t Target) run(ctx context.Context, env operation.Environment, m *management.API, o operation.Options) error {
	parts, err := t.parts(ctx, env, m)
	if err != nil {
		return err
	}
	_, err = o.Apply(ctx, env, parts...)
	return err
}
