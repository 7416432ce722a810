package nodepool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// CheckInstanceType returns an error if the region does not have the instance type of a pool, or if it has another architecture. The
// operator would only report it after everything else is created.
func CheckInstanceType(ctx context.Context, env operation.Environment, cfg aws.Config, pool clustermanifests.Pool) error {
	types := instancetypes.New(func(string) instancetypes.API { return awsx.EC2(cfg) }, env.Clock)
	found, err := types.Describe(ctx, cfg.Region, pool.InstanceType)
	switch {
	case awsx.IsDenied(err):
		fmt.Fprintf(env.Err, "instance type %s was not checked: %s\n", pool.InstanceType, awsx.Message(err))
		return nil
	case err != nil:
		return err
	case found == nil:
		return &operation.UsageError{Err: fmt.Errorf("--instance-type: region %s has no instance type %s", cfg.Region, pool.InstanceType)}
	case !slices.Contains(found.Architectures, string(pool.Arch)):
		return &operation.UsageError{Err: fmt.Errorf("--instance-type: machines of %s have the architecture %s, and --arch is %s", pool.InstanceType, strings.Join(found.Architectures, ", "), pool.Arch)}
	}
	return nil
}
