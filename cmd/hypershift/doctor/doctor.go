// Package doctor has the command `doctor`.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/accountcheck"
	"github.com/hosted-control-planes/hypershift/internal/awsx/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/prerequisites"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

const long = `Each check has a result and, if it did not pass, what to do. Without a name, the management cluster and the installation are checked.
With the name of a HostedCluster, the account of your AWS credentials is checked for it, too: its hosted zones, and the quotas that another
cluster would need. --aws checks the quotas before there is a cluster. A quota that may not be read is unknown, which is no failure.

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
	if o.Name != "" {
		hc, err := clustertree.FindHostedCluster(ctx, c, o.Key())
		if err != nil {
			return err
		}
		facts.AWS = o.account(ctx, env, hc)
	} else if o.aws {
		facts.AWS = o.account(ctx, env, nil)
	}
	web := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	prerequisites.Gather(ctx, c, server, web, facts)
	if err := ctx.Err(); err != nil {
		return err
	}
	results := prerequisites.Run(facts)
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
		text := fmt.Sprintf("%-7s  %s: %s\n", r.Status, r.Check, r.Message)
		if r.Action != "" {
			text += strings.Repeat(" ", 9) + "-> " + r.Action + "\n"
		}
		if _, err := fmt.Fprint(env.Out, text); err != nil {
			return fmt.Errorf("writing the results: %w", err)
		}
	}
	return nil
}

// account reads the facts of the account of the credentials. hc may be nil.
func (o *options) account(ctx context.Context, env operation.Environment, hc *hyperv1.HostedCluster) *prerequisites.AWS {
	a := &prerequisites.AWS{Account: "AWS", Region: o.Region, Zones: map[string]error{}, Errors: map[string]error{}}
	vpc, zones, domain := "", map[string]bool{}, ""
	if hc != nil {
		if hc.Spec.Platform.AWS == nil {
			return nil
		}
		o.Region = cmp.Or(o.Region, hc.Spec.Platform.AWS.Region)
		if hc.Spec.Platform.AWS.CloudProviderConfig != nil {
			vpc = hc.Spec.Platform.AWS.CloudProviderConfig.VPC
		}
		zones, domain = map[string]bool{hc.Spec.DNS.PublicZoneID: false, hc.Spec.DNS.PrivateZoneID: true}, hc.Spec.DNS.BaseDomain
	}
	cfg, err := o.Session.Config(ctx, env)
	if err != nil {
		a.Errors["addresses"] = err
		return a
	}
	a.Region = cfg.Region
	caller, err := awsgraph.CallerOf(ctx, cfg)
	if err != nil {
		a.Errors["addresses"] = errors.New(awsx.Message(err))
		return a
	}
	a.Account = caller.Account
	var quotas sync.WaitGroup
	defer quotas.Wait()
	quotas.Go(func() {
		a.Quotas = accountcheck.Quotas(ctx, cfg, vpc)
		for i, q := range a.Quotas {
			if q.Err != nil {
				a.Quotas[i].Err = errors.New(awsx.Message(q.Err))
			}
		}
	})
	if a.Addresses, a.AddressQuota, err = accountcheck.Addresses(ctx, cfg); err != nil {
		a.Errors["addresses"] = errors.New(awsx.Message(err))
	}
	for id, private := range zones {
		if id == "" {
			continue
		}
		a.Zones[id] = nil
		if err := accountcheck.Zone(ctx, cfg, id, domain, private); err != nil {
			a.Zones[id] = errors.New(awsx.Message(err))
		}
	}
	return a
}
