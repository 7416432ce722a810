// Package cli is the tree of commands and their exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/bastion"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/clirole"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cluster"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/iam"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/infra"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/kubeconfig"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/move"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/nodepool"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/oidcbucket"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operatorroles"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

// Exit codes.
const (
	// Done: everything is as desired.
	Done = 0
	// Failed: something could not be done. The same command continues.
	Failed = 1
	// Usage: the command is not correct. No call was made.
	Usage = 2
	// Changes: --plan has found differences.
	Changes = 3
	// Remaining: the deletion is complete, and resources that it does not delete are left.
	Remaining = 4
	// Interrupted by a signal. The same command continues.
	Interrupted = 130
)

// New returns the command of that name: hypershift or hcp, with a suffix on Windows.
func New(name string, env operation.Environment) *cobra.Command {
	if name = strings.TrimSuffix(name, ".exe"); name != "hcp" {
		name = "hypershift"
	}
	root := &cobra.Command{
		Use: name, Short: "Create, inspect and delete hosted clusters and what they need in AWS",
		Version: version.Get().String(), SilenceErrors: true, SilenceUsage: true,
	}
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &operation.UsageError{Err: err} })
	root.AddCommand(
		group("create", "Create resources", group("infra", "Create the network and the hosted zones of a cluster", infra.NewCreate(env)),
			group("iam", "Create the identity provider and the roles of a cluster", iam.NewCreate(env), clirole.NewCreate(env)),
			group("oidc-bucket", "Create the bucket of the OIDC documents of clusters", oidcbucket.NewCreate(env)),
			group("operator-roles", "Create the roles of the operator in the account of the management cluster", operatorroles.NewCreate(env)),
			group("cluster", "Create a cluster, with all that it needs", cluster.NewCreate(env)),
			group("nodepool", "Create a node pool of a cluster", nodepool.NewCreate(env)),
			group("bastion", "Create an instance in the network of a cluster, to look for a problem there", bastion.NewCreate(env)),
			kubeconfig.New(env)),
		group("destroy", "Delete resources", group("infra", "Delete the network and the hosted zones of a cluster", infra.NewDestroy(env)),
			group("iam", "Delete the identity provider and the roles of a cluster", iam.NewDestroy(env), clirole.NewDestroy(env)),
			group("oidc-bucket", "Delete the bucket of the OIDC documents of clusters", oidcbucket.NewDestroy(env)),
			group("operator-roles", "Delete the roles of the operator in the account of the management cluster", operatorroles.NewDestroy(env)),
			group("cluster", "Delete a cluster, with all that it needs", cluster.NewDestroy(env)),
			group("bastion", "Delete the instance of `create bastion`", bastion.NewDestroy(env)),
			nodepool.NewDestroy(env)),
		group("move", "Move resources to another management cluster", move.NewMove(env)),
		newVersion(env), newMan(env),
	)
	addInspection(root, env)
	addCompletion(root)
	groupFlags(root)
	return root
}

func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		_ = c.Help()
		return &operation.UsageError{Err: fmt.Errorf("%s needs a subcommand", c.CommandPath())}
	}}
	c.AddCommand(commands...)
	return c
}

// Run runs a command line and returns the exit code.
func Run(ctx context.Context, name string, args []string, env operation.Environment) int {
	root := New(name, env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage *operation.UsageError
	switch {
	case err == nil:
		return Done
	case errors.Is(err, operation.ErrChanges):
		return Changes
	case errors.Is(err, operation.ErrRemaining):
		return Remaining
	case ctx.Err() != nil:
		fmt.Fprintln(env.Err, "interrupted; the same command continues")
		return Interrupted
	case errors.As(err, &usage), isUnknownCommand(err):
		fmt.Fprintf(env.Err, "error: %v\n", err)
		return Usage
	}
	fmt.Fprintf(env.Err, "error: %v\n", awsgraph.Explain(err))
	return Failed
}

// isUnknownCommand: Cobra has no type for it, and returns it before any command of ours runs.
func isUnknownCommand(err error) bool {
	var runErr *operation.RunError
	return !errors.As(err, &runErr)
}
