// Package infra implements the commands `create infra aws` and `destroy infra aws`.
package infra

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
	"github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

const long = `The resources are a graph. They are created in parallel, and the state is saved before and after each creation:
if the command ends early for any reason, the same command continues. It adopts only resources that carry the tag
kubernetes.io/cluster/<infra-id>=owned, and repairs what was changed since.`

func state(infraID string) string { return infraID + "-infra-aws" }

// NewCreate returns `create infra aws`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o operation.Options
	var v operation.VPCOwner
	var spec infra.Spec
	var cidr, outputFile string
	var tags []string
	var served management.Flags
	c := operation.Command("aws", "Create the VPC and the hosted zones of a cluster in AWS", long, func(ctx context.Context) error {
		if err := complete(&spec, cidr, tags); err != nil {
			return err
		}
		if served != (management.Flags{}) {
			if err := checkZones(ctx, env, o, served, spec.Zones); err != nil {
				return err
			}
		}
		return create(ctx, env, o, v, spec, outputFile)
	})
	c.Example = "  hypershift create infra aws --infra-id demo-x7k2p --name demo --base-domain example.com --zones us-east-1a,us-east-1b,us-east-1c --output-file infra.json"
	o.Flags(c, false)
	v.Flags(c)
	f := c.Flags()
	f.StringVar(&spec.InfraID, "infra-id", "", "infra ID of the cluster, the prefix of all names (required)")
	f.StringVar(&spec.Name, "name", "example", "name of the cluster; its private zone is <name>.hypershift.local")
	f.StringVar(&spec.BaseDomain, "base-domain", "", "domain of an existing public hosted zone (a cluster with the endpoint access Private needs none)")
	f.StringVar(&spec.BaseDomainPrefix, "base-domain-prefix", "", "prefix of the private zone in the base domain (default: the name of the cluster; none: no prefix)")
	f.StringSliceVar(&spec.Zones, "zones", nil, "availability zones, as names or ids such as use1-az1 (default: the first one of the region)")
	f.StringVar(&served.Kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster: fail if --zones has no zone that a private cluster there can use")
	f.StringVar(&served.Context, "context", "", "context of that kubeconfig, for the same check")
	f.StringVar(&cidr, "vpc-cidr", "10.0.0.0/16", "addresses of the VPC, a network with a mask of 16 bits")
	f.BoolVar(&spec.SingleNATGateway, "single-nat-gateway", false, "one NAT gateway for all zones: it costs less, and all zones depend on one")
	f.BoolVar(&spec.PublicOnly, "public-only", false, "only public subnets, without NAT gateways")
	f.BoolVar(&spec.Proxy, "enable-proxy", false, "a proxy in the first public subnet instead of NAT gateways")
	f.BoolVar(&spec.SecureProxy, "enable-secure-proxy", false, "the same, and the proxy also accepts connections with TLS, with a certificate authority of its own")
	f.BoolVar(&spec.WorkerGroup, "worker-security-group", false, "a security group for nodes, in addition to that of the operator")
	f.StringSliceVar(&tags, "additional-tags", nil, "tags of all resources, as key=value")
	f.StringVar(&outputFile, "output-file", "", "file for the result as JSON (default: standard output)")
	return c
}

func complete(spec *infra.Spec, cidr string, tags []string) (err error) {
	// An invalid network is reported with the other problems.
	spec.VPCCIDR, _ = netip.ParsePrefix(cidr)
	spec.Tags, err = operation.ParseTags(tags)
	return err
}

// checkZones compares the zones of a network with those that the management cluster serves: a private cluster needs one of them.
func checkZones(ctx context.Context, env operation.Environment, o operation.Options, served management.Flags, zones []string) error {
	m, err := served.Connect()
	if err != nil {
		return err
	}
	cfg, err := o.Config(ctx, env)
	if err != nil {
		return err
	}
	facts := &prerequisites.Facts{}
	prerequisites.GatherZones(ctx, m, facts)
	prerequisites.GatherAvailabilityZones(ctx, cfg, facts)
	if err := facts.AWS.Errors["zones"]; err != nil {
		return err
	}
	found, err := facts.AWS.AvailabilityZones.Resolve(cfg.Region, zones)
	if err != nil {
		return &operation.UsageError{Err: fmt.Errorf("--zones: %w", err)}
	}
	facts.AWS.Cluster = &prerequisites.Cluster{Private: true, Zones: found}
	return operation.Report(env, []prerequisites.Result{facts.Zones()}, false)
}

func create(ctx context.Context, env operation.Environment, o operation.Options, v operation.VPCOwner, spec infra.Spec, outputFile string) error {
	cfg, err := o.Config(ctx, env)
	if err != nil {
		return err
	}
	spec.Region = cfg.Region
	if err := operation.Check(spec.Validate()); err != nil {
		return err
	}
	network, err := Prepare(ctx, env, o.Session, v, cfg, spec)
	if err != nil {
		return err
	}
	plan, err := o.Apply(ctx, env, network.Part)
	if err != nil || o.Plan {
		return err
	}
	return operation.Result(env, outputFile, network.Output(plan.ID))
}

// Network is the infrastructure of a spec: a part of a graph, and its result.
type Network struct {
	operation.Part
	// Spec has the accounts, and the names of the zones.
	Spec  infra.Spec
	cloud *infra.Cloud
}

// Output returns the ids of the infrastructure, and the certificate authority of its proxy.
func (n Network) Output(ids resourcegraph.IDs) infra.Output {
	output := infra.NewOutput(n.Spec, ids)
	output.ProxyCA = n.cloud.ProxyCA()
	return output
}

// Prepare reads the accounts and the zones of a valid spec. It makes no writing call.
func Prepare(ctx context.Context, env operation.Environment, s operation.Session, v operation.VPCOwner, cfg aws.Config, spec infra.Spec) (Network, error) {
	ofVPC, shared, err := v.Config(ctx, env, s, cfg)
	if err != nil {
		return Network{}, err
	}
	cloud := infra.NewCloud(ofVPC, spec.Owner()).WithClock(env.Clock)
	if shared {
		cloud.SharedWith(cfg)
	}
	var caller awsgraph.Caller
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		caller, err = awsgraph.CallerOf(groupCtx, ofVPC)
		return err
	})
	if shared {
		group.Go(func() error {
			cluster, err := awsgraph.CallerOf(groupCtx, cfg)
			spec.ClusterAccount = cluster.Account
			return err
		})
	}
	group.Go(func() (err error) {
		spec.Zones, err = cloud.ResolveZones(groupCtx, spec.Zones)
		return err
	})
	if err := group.Wait(); err != nil {
		return Network{}, err
	}
	if shared {
		spec.VPCOwner, spec.Partition = caller.Account, caller.Partition
		if err := operation.CheckAccounts(caller, spec.ClusterAccount); err != nil {
			return Network{}, err
		}
	}
	part := operation.Part{State: state(spec.InfraID), Scope: scope(caller, spec), Nodes: cloud.Nodes(spec), Prefetch: cloud.Prefetch()}
	return Network{Part: part, Spec: spec, cloud: cloud}, nil
}

// scope identifies the subject of a state. A name that is empty in the command is not compared.
func scope(caller awsgraph.Caller, spec infra.Spec) map[string]string {
	scope := map[string]string{"account": caller.Account, "region": spec.Region, "infra ID": spec.InfraID}
	if spec.Name != "" {
		scope["name"] = spec.Name
	}
	if spec.BaseDomain != "" {
		scope["base domain"] = spec.BaseDomain
	}
	return scope
}

// NewDestroy returns `destroy infra aws`.
func NewDestroy(env operation.Environment) *cobra.Command {
	var o operation.Options
	var v operation.VPCOwner
	var spec infra.Spec
	c := operation.Command("aws", "Delete the VPC and the hosted zones of a cluster in AWS, and what the cluster left behind there",
		"Everything that carries the tag kubernetes.io/cluster/<infra-id>=owned is deleted, after all that depends on it. Volumes,\nsnapshots and what does not carry the tag are listed and not deleted. With a shared VPC, this is so in both accounts.",
		func(ctx context.Context) error { return destroy(ctx, env, o, v, spec) })
	c.Example = "  hypershift destroy infra aws --infra-id demo-x7k2p --name demo --base-domain example.com --plan"
	o.Flags(c, true)
	v.Flags(c)
	f := c.Flags()
	f.StringVar(&spec.InfraID, "infra-id", "", "infra ID of the cluster (required)")
	f.StringVar(&spec.Name, "name", "", "name of the cluster, to find its private zones if the VPC does not exist any more")
	f.StringVar(&spec.BaseDomain, "base-domain", "", "domain of the cluster, for the same reason")
	f.StringVar(&spec.BaseDomainPrefix, "base-domain-prefix", "", "prefix of the private zone in the base domain, for the same reason")
	return c
}

func destroy(ctx context.Context, env operation.Environment, o operation.Options, v operation.VPCOwner, spec infra.Spec) error {
	if spec.InfraID == "" {
		return &operation.UsageError{Err: errors.New("--infra-id: Required value")}
	}
	search, err := Search(ctx, env, o.Session, v, spec)
	if err != nil {
		return err
	}
	return o.Destroy(ctx, env, search)
}

// Search returns the search for the infrastructure of an infra ID.
func Search(ctx context.Context, env operation.Environment, s operation.Session, v operation.VPCOwner, spec infra.Spec) (operation.Search, error) {
	cfg, err := s.Config(ctx, env)
	if err != nil {
		return operation.Search{}, err
	}
	spec.Region = cfg.Region
	ofVPC, shared, err := v.Config(ctx, env, s, cfg)
	if err != nil {
		return operation.Search{}, err
	}
	caller, err := awsgraph.CallerOf(ctx, ofVPC)
	if err != nil {
		return operation.Search{}, err
	}
	return operation.Search{State: state(spec.InfraID), Scope: scope(caller, spec), Discover: func(ctx context.Context, _ func(string) bool) (operation.Finding, error) {
		cloud := infra.NewCloud(ofVPC, spec.Owner())
		if shared {
			cloud.SharedWith(cfg)
		}
		found, err := cloud.Discover(ctx, spec.PrivateZones()...)
		if err != nil {
			return operation.Finding{}, err
		}
		finding := operation.Finding{Graph: found.Graph}
		for _, r := range found.Remaining {
			finding.Remaining = append(finding.Remaining, r.String())
		}
		return finding, nil
	}}, nil
}
