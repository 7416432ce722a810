// Package doctor implements the command `doctor`.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/palette"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

const long = `Each check has a result and, if it did not pass, what to do. Without a name, the management cluster and the installation are checked.
With the name of a HostedCluster, each of its conditions that is not normal is a row, and so are those of its NodePools. The account of your
AWS credentials is checked for it, too: its hosted zones, and the quotas that another cluster would need. --aws checks the quotas before there
is a cluster. A quota that may not be read is unknown, which is no failure.

The command only reads. It exits with 1 if a check failed.`

type options struct {
	management.Cluster
	operation.Session
	operatorNamespace, output string
	aws                       bool
}

// New returns `doctor`.
func New(env operation.Environment) *cobra.Command {
	var o options
	c := o.Command("doctor", "Check the prerequisites of an installation and of a hosted cluster", long, true, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift doctor\n  hypershift doctor demo --role-arn arn:aws:iam::222222222222:role/reader\n  hypershift doctor --aws --region us-east-1"
	o.AddFlags(c)
	c.Flags().StringVar(&o.operatorNamespace, "operator-namespace", "hypershift", "namespace of the hypershift-operator")
	c.Flags().BoolVar(&o.aws, "aws", false, "check the account of your AWS credentials without a HostedCluster, too")
	c.Flags().StringVarP(&o.output, "output", "o", "text", "text or json")
	return c
}

func (o *options) run(ctx context.Context, env operation.Environment) error {
	if o.output != "text" && o.output != "json" {
		return &operation.UsageError{Err: errors.New("--output must be text or json")}
	}
	c, config, err := o.Client()
	if err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	facts := &prerequisites.Facts{Now: env.Clock.Now(), ClientVersion: version.Get().Version, Namespace: o.operatorNamespace}
	var existing *prerequisites.Existing
	if o.Name != "" {
		if existing, err = find(ctx, c, o.Key()); err != nil {
			return err
		}
	}
	web := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	prerequisites.Gather(ctx, c, server, web, facts)
	if existing != nil || o.aws {
		o.gatherAWS(ctx, env, existing, facts)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	results := prerequisites.Run(facts)
	if o.Name != "" {
		objects, err := clustertree.Gather(ctx, c, o.Key())
		if err != nil {
			return err
		}
		results = append(results, conditions(clustertree.Build(objects))...)
	}
	if o.output == "json" {
		err = operation.WriteJSON(env.Out, results)
	} else {
		err = write(env, results)
	}
	if err != nil {
		return err
	}
	failures := 0
	for _, r := range results {
		if r.Status == prerequisites.Failed {
			failures++
		}
	}
	if failures > 0 {
		return fmt.Errorf("%d of %d checks failed", failures, len(results))
	}
	return nil
}

func write(env operation.Environment, results []prerequisites.Result) error {
	for _, r := range results {
		text := painted(env.Palette, r.Status) + fmt.Sprintf("  %s: %s\n", r.Check, r.Message)
		if r.Action != "" {
			text += strings.Repeat(" ", 9) + "-> " + r.Action + "\n"
		}
		if _, err := fmt.Fprint(env.Out, text); err != nil {
			return fmt.Errorf("writing the results: %w", err)
		}
	}
	return nil
}

// painted returns the first column.
func painted(p palette.Palette, status prerequisites.Status) string {
	text := fmt.Sprintf("%-7s", status)
	switch status {
	case prerequisites.Failed:
		return p.Bad(text)
	case prerequisites.Warning:
		return p.Warning(text)
	case prerequisites.Passed:
		return p.Good(text)
	default:
		return text
	}
}

// find returns the cluster with its node pools, or nil if it is not on AWS.
func find(ctx context.Context, c client.Client, key client.ObjectKey) (*prerequisites.Existing, error) {
	hc, err := clustertree.FindHostedCluster(ctx, c, key)
	if err != nil || hc.Spec.Platform.AWS == nil {
		return nil, err
	}
	api := management.API{Client: c}
	// Without its node pools, the zones of the cluster are not compared.
	pools, _ := api.NodePools(ctx, key.Namespace, key.Name)
	return &prerequisites.Existing{HostedCluster: hc, NodePools: pools}, nil
}

// gatherAWS reads the facts of the account of the credentials.
func (o *options) gatherAWS(ctx context.Context, env operation.Environment, existing *prerequisites.Existing, facts *prerequisites.Facts) {
	if existing != nil {
		o.Region = cmp.Or(o.Region, existing.Spec.Platform.AWS.Region)
	}
	cfg, err := o.Session.Config(ctx, env)
	if err != nil {
		facts.AWS = &prerequisites.AWS{Account: "AWS", Region: o.Region, Errors: map[string]error{"addresses": err}}
		return
	}
	prerequisites.GatherAWS(ctx, cfg, existing, facts)
}
