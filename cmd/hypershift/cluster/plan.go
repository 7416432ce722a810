package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
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
func (o *createOptions) plan(ctx context.Context, env operation.Environment, cfg aws.Config, m *management.API) error {
	options := operation.Options{Plan: true, Verbose: o.Verbose, Output: "text", Session: o.Session}
	changes := false
	// The ids of a network that does not exist yet are not part of any plan.
	example := clustermanifests.ExampleInfra(o.exampleNetwork())
	if o.infraJSON != "" {
		example = o.cluster.Infra
	} else {
		existing, err := infra.Ensure(ctx, env, options, o.vpcOwner, cfg, o.network)
		switch {
		case errors.Is(err, operation.ErrChanges):
			changes = true
		case err != nil:
			return err
		default:
			example = existing
		}
	}
	if o.iamJSON == "" {
		o.roles.Inputs = inputs(example)
		_, err := iam.Ensure(ctx, env, options, o.vpcOwner, cfg, o.roles)
		if err != nil && !errors.Is(err, operation.ErrChanges) {
			return err
		}
		changes = changes || err != nil
		o.cluster.IAM = clusteriam.NewOutput(o.roles)
	}
	o.cluster.Infra = example
	for _, obj := range o.cluster.Objects() {
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
