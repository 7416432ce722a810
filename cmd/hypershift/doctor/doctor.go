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
	"k8s.io/client-go/rest"
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
	checks := Checks{Client: c, Config: config, OperatorNamespace: o.operatorNamespace, Session: &o.Session, Account: o.aws}
	var key client.ObjectKey
	if o.Name != "" {
		key = o.Key()
	}
	results, err := checks.Run(ctx, env, key)
	if err != nil {
		return err
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

// Checks are the checks of an installation.
type Checks struct {
	// Client and Config reach the management cluster.
	Client            client.Client
	Config            *rest.Config
	OperatorNamespace string
	// Session reaches AWS; nil: nothing in AWS is checked. Account: the account is checked without a HostedCluster, too.
	Session *operation.Session
	Account bool
}

// Run checks the installation and, if key has a name, that HostedCluster. It returns an error if the HostedCluster does not exist.
func (k Checks) Run(ctx context.Context, env operation.Environment, key client.ObjectKey) ([]prerequisites.Result, error) {
	server, err := discovery.NewDiscoveryClientForConfig(k.Config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	facts := &prerequisites.Facts{Now: env.Clock.Now(), ClientVersion: version.Get().Version, Namespace: k.OperatorNamespace}
	var existing *prerequisites.Existing
	if key.Name != "" {
		if existing, err = find(ctx, k.Client, key); err != nil {
			return nil, err
		}
	}
	web := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	prerequisites.Gather(ctx, k.Client, server, web, facts)
	if k.Session != nil && (existing != nil || k.Account) {
		gatherAWS(ctx, env, *k.Session, existing, facts)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	results := prerequisites.Run(facts)
	if key.Name != "" {
		objects, err := clustertree.Gather(ctx, k.Client, key)
		if err != nil {
			return nil, err
		}
		results = append(results, conditions(clustertree.Build(objects))...)
	}
	return results, nil
}

// gatherAWS reads the facts of the account of the credentials.
func gatherAWS(ctx context.Context, env operation.Environment, session operation.Session, existing *prerequisites.Existing, facts *prerequisites.Facts) {
	if existing != nil {
		session.Region = cmp.Or(session.Region, existing.Spec.Platform.AWS.Region)
	}
	cfg, err := session.Config(ctx, env)
	if err != nil {
		facts.AWS = &prerequisites.AWS{Account: "AWS", Region: session.Region, Errors: map[string]error{"addresses": err}}
		return
	}
	prerequisites.GatherAWS(ctx, cfg, existing, facts)
}
