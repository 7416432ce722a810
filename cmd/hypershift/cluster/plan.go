package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/iam"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/infra"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// plan prints the resources to create or change.
func (o *createOptions) plan(ctx context.Context, env operation.Environment, m *management.API, t Target) error {
	options := operation.Options{Plan: true, Verbose: o.Verbose, Output: "text", Session: t.Session}
	changes := false
	// The ids of a network that does not exist yet are not part of any plan.
	example := clustermanifests.ExampleInfra(t.exampleNetwork())
	if t.GivenNetwork {
		example = t.Cluster.Infra
	} else {
		existing, err := infra.Ensure(ctx, env, options, t.VPCOwner, t.AWS, t.Network)
		switch {
		case errors.Is(err, operation.ErrChanges):
			changes = true
		case err != nil:
			return err
		default:
			example = existing
		}
	}
	cluster := t.Cluster
	cluster.Infra = example
	if !t.GivenRoles {
		roles := t.Roles
		roles.Inputs = inputs(example)
		_, err := iam.Ensure(ctx, env, options, t.VPCOwner, t.AWS, roles)
		if err != nil && !errors.Is(err, operation.ErrChanges) {
			return err
		}
		changes = changes || err != nil
		cluster.IAM = clusteriam.NewOutput(roles)
	}
	for _, obj := range cluster.Objects() {
		found := obj.DeepCopyObject().(client.Object)
		err := m.Get(ctx, client.ObjectKeyFromObject(obj), found)
		switch {
		case apierrors.IsNotFound(err):
			fmt.Fprintf(env.Out, "+ %s\n", title(obj))
			changes = true
		case err != nil:
			return fmt.Errorf("reading %s: %w", title(obj), err)
		default:
			fmt.Fprintf(env.Out, "  %s\n", title(obj))
		}
	}
	if changes {
		return operation.ErrChanges
	}
	return nil
}
