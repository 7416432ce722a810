// Package console reads the consoles of all instances of a cluster.
package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instance"
)

// Output is the text of an instance's console, or the reason why it could not be read.
type Output struct {
	instance.Machine
	Text []byte
	Err  error
}

// parallel is within the limit of EC2 for this call.
const parallel = 5

// All returns the consoles of all instances of the cluster.
func All(ctx context.Context, cfg aws.Config, infraID string) ([]Output, error) {
	api := awsx.EC2(cfg)
	machines, err := instance.List(ctx, api, infraID)
	if err != nil {
		return nil, err
	}
	outputs := make([]Output, len(machines))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, m := range machines {
		group.Go(func() error {
			outputs[i].Machine = m
			outputs[i].Text, outputs[i].Err = instance.Console(ctx, api, m.ID)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading the consoles of %s: %w", infraID, err)
	}
	return outputs, nil
}

// FileName is the name of a file for the console. The Name tag may have any character, and is not unique.
func (o Output) FileName() string {
	safe := func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		}
		return '_'
	}
	name := strings.Map(safe, o.Name)
	if name != "" {
		name += "-"
	}
	return name + o.ID + ".log"
}
