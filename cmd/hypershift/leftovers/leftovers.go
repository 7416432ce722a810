// Package leftovers implements the command `leftovers aws`.
package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/leftovers"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/listprices"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const long = `Without --infra-id, the command lists the infra IDs with tagged EC2 resources in the region, and whether the management cluster has
their HostedCluster. With --infra-id, it lists the resources of that cluster, those that cost money first. --management-role-arn adds a
second account.

--delete deletes them, after a question, in the order of their dependencies. Volumes, snapshots and resources without the tag are never
deleted. It is refused while the management cluster has a HostedCluster with that infra ID.`

type options struct {
	operation.Options
	management.Flags
	infraID, name, baseDomain string
	vpcOwner                  operation.VPCOwner
	managementRole            string
	delete, orphaned          bool
}

// NewAWS returns `leftovers aws`.
func NewAWS(env operation.Environment) *cobra.Command {
	var o options
	c := operation.Command("aws", "List or delete what a deleted cluster left behind in AWS", long, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift leftovers aws\n  hypershift leftovers aws --infra-id demo-x7k2p --name demo --delete"
	o.Session.AddFlags(c)
	o.Flags.Add(c)
	f := c.Flags()
	f.StringVar(&o.infraID, "infra-id", "", "infra ID of the cluster (default: list the infra IDs)")
	f.StringVar(&o.name, "name", "", "name of the cluster, to find its private zones if the VPC does not exist any more")
	f.StringVar(&o.baseDomain, "base-domain", "", "domain of the cluster, for the same reason")
	f.StringVar(&o.managementRole, "management-role-arn", "", "role in the management account, to look there, too")
	f.BoolVar(&o.delete, "delete", false, "delete them, after a question")
	f.BoolVar(&o.orphaned, "no-management-cluster", false, "with --delete: the management cluster does not exist any more, so do not look for the HostedCluster")
	f.BoolVarP(&o.Yes, "yes", "y", false, "delete without asking")
	f.StringVarP(&o.Output, "output", "o", "text", "format of the list: text or json")
	return c
}

// account is where to look.
type account struct {
	cfg    aws.Config
	caller awsgraph.Caller
}

type result struct {
	Account   string               `json:"account"`
	Region    string               `json:"region"`
	Clusters  []cluster            `json:"clusters,omitempty"`
	Resources []leftovers.Resource `json:"resources,omitempty"`
	Cost      *listprices.Estimate `json:"cost,omitempty"`
}

// costOf returns nil if the resources are free of charge.
func costOf(resources []leftovers.Resource) (*listprices.Estimate, error) {
	counts := map[string]int{}
	for _, r := range resources {
		counts[r.Kind]++
	}
	return listprices.EstimateOf(counts)
}

type cluster struct {
	InfraID   string `json:"infraID"`
	Resources int    `json:"resources"`
	// HostedCluster is its HostedCluster, or why that is not known. Empty: it does not exist.
	HostedCluster string `json:"hostedCluster,omitempty"`
}

func (o *options) run(ctx context.Context, env operation.Environment) error {
	switch {
	case o.Output != "text" && o.Output != "json":
		return &operation.UsageError{Err: errors.New("--output must be text or json")}
	case o.delete && o.infraID == "":
		return &operation.UsageError{Err: errors.New("--delete needs --infra-id")}
	case o.delete && o.Output == "json":
		return &operation.UsageError{Err: errors.New("--delete and -o json exclude each other")}
	}
	accounts, err := o.accounts(ctx, env)
	if err != nil {
		return err
	}
	hosted, unknown := o.hostedClusters(ctx)
	if o.infraID == "" {
		return o.listClusters(ctx, env, accounts, hosted, unknown)
	}
	if o.delete && !o.orphaned {
		if unknown != nil {
			return fmt.Errorf("whether HostedCluster %s still exists is not known: %w\n  pass --kubeconfig, or --no-management-cluster if the management cluster does not exist any more", o.infraID, unknown)
		}
		if owner := hosted[o.infraID]; owner != "" {
			return fmt.Errorf("HostedCluster %s has the infra ID %s: delete it first, its operators need these resources", owner, o.infraID)
		}
	}
	owner := awsgraph.Owner{InfraID: o.infraID, Name: o.name}
	zones := o.zones()
	total, err := o.printResources(ctx, env, accounts, owner, zones)
	if err != nil {
		return err
	}
	if !o.delete {
		if total == 0 {
			return nil
		}
		return operation.ErrRemaining
	}
	var remaining error
	for _, a := range accounts {
		fmt.Fprintf(env.Err, "account %s:\n", a.caller.Account)
		err := o.Destroy(ctx, env, operation.Search{
			State: o.infraID + "-leftovers-" + a.caller.Account,
			Scope: map[string]string{"account": a.caller.Account, "region": a.cfg.Region, "infra ID": o.infraID},
			Discover: func(ctx context.Context, _ func(string) bool) (operation.Finding, error) {
				return find(ctx, a.cfg, owner, zones)
			},
		})
		if err != nil && !errors.Is(err, operation.ErrRemaining) {
			return err
		}
		remaining = errors.Join(remaining, err)
	}
	return remaining
}

// Report prints the remaining resources of a cluster in the account of the session, and in the accounts of a shared VPC and of the role if
// there are any. It returns the number of resources.
func Report(ctx context.Context, env operation.Environment, session operation.Session, vpcOwner operation.VPCOwner, managementRole string, cluster infra.Spec) (int, error) {
	o := options{Options: operation.Options{Output: "text", Session: session}, infraID: cluster.InfraID, vpcOwner: vpcOwner, managementRole: managementRole}
	accounts, err := o.accounts(ctx, env)
	if err != nil {
		return 0, err
	}
	return o.printResources(ctx, env, accounts, cluster.Owner(), cluster.PrivateZones())
}

// printResources prints the resources of a cluster, and returns their number.
func (o *options) printResources(ctx context.Context, env operation.Environment, accounts []account, owner awsgraph.Owner, zones []string) (total int, _ error) {
	var results []result
	for _, a := range accounts {
		found, err := leftovers.Find(ctx, a.cfg, owner, zones...)
		if err != nil {
			return 0, fmt.Errorf("account %s: %w", a.caller.Account, err)
		}
		total += len(found.Resources)
		c, err := costOf(found.Resources)
		if err != nil {
			return 0, err
		}
		results = append(results, result{Account: a.caller.Account, Region: a.cfg.Region, Resources: found.Resources, Cost: c})
	}
	return total, o.print(env, results)
}

func find(ctx context.Context, cfg aws.Config, owner awsgraph.Owner, zones []string) (operation.Finding, error) {
	found, err := leftovers.Find(ctx, cfg, owner, zones...)
	if err != nil {
		return operation.Finding{}, err
	}
	out := operation.Finding{Graph: found.Graph}
	for _, r := range found.Resources {
		if r.Kept != "" {
			out.Remaining = append(out.Remaining, r.Kind+" "+r.ID+": "+r.Kept)
		}
	}
	return out, nil
}

func (o *options) zones() (zones []string) {
	if o.name == "" {
		return nil
	}
	zones = append(zones, names.LocalZone(o.name))
	if o.baseDomain != "" {
		zones = append(zones, o.name+"."+o.baseDomain)
	}
	return zones
}

func (o *options) accounts(ctx context.Context, env operation.Environment) ([]account, error) {
	first, err := o.Session.Config(ctx, env)
	if err != nil {
		return nil, err
	}
	sessions := []aws.Config{first}
	ofVPC, shared, err := o.vpcOwner.Config(ctx, env, o.Session, first)
	if err != nil {
		return nil, err
	}
	if shared {
		sessions = append(sessions, ofVPC)
	}
	if o.managementRole != "" {
		// The role is assumed with the credentials of the user, not with the credentials of --role-arn.
		plain := o.Session
		plain.RoleARN = ""
		cfg, err := plain.Config(ctx, env)
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, awsx.AssumeRole(cfg, clock.RealClock{}, o.managementRole))
	}
	var all []account
	for _, cfg := range sessions {
		caller, err := awsgraph.CallerOf(ctx, cfg)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(a account) bool { return a.caller.Account == caller.Account }) {
			all = append(all, account{cfg, caller})
		}
	}
	return all, nil
}

// managementTimeout is how long a management cluster may take that a user of AWS alone does not have.
const managementTimeout = 10 * time.Second

// hostedClusters returns the HostedClusters of the management cluster by their infra ID, or why they are not known.
func (o *options) hostedClusters(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, managementTimeout)
	defer cancel()
	c, _, err := o.Client()
	if err != nil {
		return nil, err
	}
	list := &hyperv1.HostedClusterList{}
	if err := c.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing HostedClusters: %w", err)
	}
	found := map[string]string{}
	for i := range list.Items {
		found[list.Items[i].Spec.InfraID] = list.Items[i].Namespace + "/" + list.Items[i].Name
	}
	return found, nil
}

func (o *options) listClusters(ctx context.Context, env operation.Environment, accounts []account, hosted map[string]string, unknown error) error {
	var results []result
	for _, a := range accounts {
		clusters, err := leftovers.Clusters(ctx, a.cfg)
		if err != nil {
			return fmt.Errorf("account %s: %w", a.caller.Account, err)
		}
		r := result{Account: a.caller.Account, Region: a.cfg.Region}
		for _, infraID := range leftovers.Sorted(clusters) {
			one := cluster{InfraID: infraID, Resources: clusters[infraID], HostedCluster: hosted[infraID]}
			if unknown != nil {
				one.HostedCluster = "unknown"
			}
			r.Clusters = append(r.Clusters, one)
		}
		results = append(results, r)
	}
	if unknown != nil {
		fmt.Fprintf(env.Err, "whether their HostedClusters exist is not known: %v\n", unknown)
	}
	return o.print(env, results)
}

func (o *options) print(env operation.Environment, results []result) error {
	if o.Output == "json" {
		return operation.WriteJSON(env.Out, results)
	}
	out := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	for _, r := range results {
		fmt.Fprintf(out, "account %s, region %s\n", r.Account, r.Region)
		switch {
		case o.infraID == "" && len(r.Clusters) == 0:
			fmt.Fprintln(out, "  no resource has the tag of a cluster")
		case o.infraID == "":
			fmt.Fprintln(out, "  INFRA ID\tRESOURCES\tHOSTEDCLUSTER")
			for _, c := range r.Clusters {
				hosted := c.HostedCluster
				if hosted == "" {
					hosted = "none"
				}
				fmt.Fprintf(out, "  %s\t%d\t%s\n", c.InfraID, c.Resources, hosted)
			}
		case len(r.Resources) == 0:
			fmt.Fprintf(out, "  nothing is left of %s\n", o.infraID)
		default:
			fmt.Fprintln(out, "  COST\tKIND\tID\tNAME\tNOTE")
			for _, one := range r.Resources {
				fmt.Fprintf(out, "  %s\t%s\t%s\t%s\t%s\n", one.Cost, one.Kind, one.ID, one.Name, one.Kept)
			}
			if r.Cost != nil {
				fmt.Fprintf(out, "  %s\n", r.Cost)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}
