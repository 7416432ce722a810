// Package consolelogs implements the command `console-logs aws`.
package consolelogs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/console"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/redact"
)

const long = `Each instance with the tag of the cluster has a file <name>-<id>.log with the last 64 KiB of its console, also those that are stopped.
What has the form of a secret is removed. The infra ID and the region are those of the HostedCluster; with --infra-id no management
cluster is needed.`

type options struct {
	management.Cluster
	operation.Session
	infraID, dir string
}

// NewAWS returns `console-logs aws`.
func NewAWS(env operation.Environment) *cobra.Command {
	var o options
	c := o.Command("aws", "Save the consoles of the machines of a hosted cluster", long, true, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift console-logs aws demo --output-dir consoles"
	o.AddFlags(c)
	c.Flags().StringVar(&o.infraID, "infra-id", "", "infra ID of the cluster, instead of the name of a HostedCluster")
	c.Flags().StringVar(&o.dir, "output-dir", "", "directory for the files (required)")
	return c
}

func (o *options) run(ctx context.Context, env operation.Environment) error {
	switch {
	case o.dir == "":
		return &operation.UsageError{Err: errors.New("--output-dir: Required value")}
	case (o.infraID == "") == (o.Name == ""):
		return &operation.UsageError{Err: errors.New("either the name of a HostedCluster or --infra-id is required")}
	}
	if o.infraID == "" {
		c, _, err := o.Client()
		if err != nil {
			return err
		}
		hc, err := clustertree.FindHostedCluster(ctx, c, o.Key())
		if err != nil {
			return err
		}
		o.infraID = hc.Spec.InfraID
		if hc.Spec.Platform.AWS != nil && o.Region == "" {
			o.Region = hc.Spec.Platform.AWS.Region
		}
	}
	cfg, err := o.Session.Config(ctx, env)
	if err != nil {
		return err
	}
	outputs, err := console.All(ctx, cfg, o.infraID)
	if err != nil {
		return err
	}
	if len(outputs) == 0 {
		return fmt.Errorf("no instance in %s has the tag of %s", cfg.Region, o.infraID)
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("creating --output-dir: %w", err)
	}
	redactor, failed := redact.New(), 0
	for _, out := range outputs {
		if out.Err != nil {
			failed++
			fmt.Fprintf(env.Err, "%s (%s, %s): %s\n", out.ID, out.Name, out.State, awsx.Message(out.Err))
			continue
		}
		path := filepath.Join(o.dir, out.FileName())
		if err := operation.WritePrivate(path, redactor.Text(out.Text)); err != nil {
			return fmt.Errorf("writing the console of %s: %w", out.ID, err)
		}
		note := ""
		if len(out.Text) == 0 {
			note = ", empty"
		}
		fmt.Fprintf(env.Out, "%s (%s%s)\n", path, out.State, note)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d consoles could not be read", failed, len(outputs))
	}
	return nil
}
