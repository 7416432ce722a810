// Package describe implements the command `describe cluster`.
package describe

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
)

const long = `Each row is an object, its state, and since when. Below an object are, in brackets, its conditions whose status is not
normal. Components and machines in their normal state are one row. docs/conditions.md has what to do for each reason.`

// NewCluster returns `describe cluster`.
func NewCluster(env operation.Environment) *cobra.Command {
	var f management.Cluster
	var output, show string
	c := f.Command("cluster", "Show a hosted cluster as a tree of its objects, with what is not as it should be", long, false,
		func(ctx context.Context) error { return run(ctx, env, f, output, show) })
	c.Example = "  hypershift describe cluster demo\n  hypershift describe cluster demo --show-conditions all"
	c.Flags().StringVar(&show, "show-conditions", "problems", "problems: conditions that are not normal; all: every condition of every object")
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return c
}

func run(ctx context.Context, env operation.Environment, f management.Cluster, output, show string) error {
	if output != "text" && output != "json" {
		return &operation.UsageError{Err: errors.New("--output must be text or json")}
	}
	if show != "problems" && show != "all" {
		return &operation.UsageError{Err: errors.New("--show-conditions must be problems or all")}
	}
	c, _, err := f.Client()
	if err != nil {
		return err
	}
	objects, err := clustertree.Gather(ctx, c, f.Key())
	if err != nil {
		return err
	}
	root := clustertree.Build(objects)
	if output == "json" {
		return operation.WriteJSON(env.Out, root)
	}
	options := clustertree.Options{All: show == "all", Now: env.Clock.Now(), Palette: env.Palette}
	if env.Terminal {
		options.Width = env.Width
	}
	return clustertree.Write(env.Out, root, options)
}
