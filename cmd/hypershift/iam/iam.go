// Package iam implements the commands `create iam aws` and `destroy iam aws`.
package iam

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
)

const long = `Each role trusts the tokens of the cluster's issuer with one subject and audience, and may only touch resources of the
cluster. If the command ends early for any reason, the same command continues. A role of the same name that is not the cluster's
is an error, and drift of trust policies, policies and tags is repaired.`

func state(infraID string) string { return infraID + "-iam-aws" }

type options struct {
	operation.Options
	vpcOwner                        operation.VPCOwner
	spec                            clusteriam.Spec
	bucket, bucketRegion, issuerURL string
	infraJSON, outputFile           string
	vpc, publicZone, privateZone    string
	localZone                       string
	tags                            []string
}

// NewCreate returns `create iam aws`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o options
	c := operation.Command("aws", "Create the OIDC provider, the roles and the instance profile of a cluster in AWS", long,
		func(ctx context.Context) error { return o.create(ctx, env) })
	c.Example = "  hypershift create iam aws --infra-id demo-x7k2p --infra-json infra.json --oidc-storage-provider-s3-bucket-name my-oidc --oidc-storage-provider-s3-region us-east-1 --output-file iam.json"
	o.Flags(c, false)
	o.vpcOwner.Flags(c)
	f := c.Flags()
	f.StringVar(&o.spec.InfraID, "infra-id", "", "infra ID of the cluster, the prefix of all names (required)")
	f.StringVar(&o.infraJSON, "infra-json", "", "file with the result of hypershift create infra, instead of the ids of the VPC and the zones")
	f.StringVar(&o.vpc, "vpc-id", "", "VPC of the cluster (default: the one with its tag)")
	f.StringVar(&o.publicZone, "public-zone-id", "", "public hosted zone, if the cluster has a base domain (default: that of --infra-json)")
	f.StringVar(&o.privateZone, "private-zone-id", "", "private hosted zone in the base domain, if the cluster has one (default: that of --infra-json)")
	f.StringVar(&o.localZone, "local-zone-id", "", "private hosted zone <name>.hypershift.local (required without --infra-json)")
	f.StringVar(&o.bucket, "oidc-storage-provider-s3-bucket-name", "", "bucket with the OIDC documents of clusters")
	f.StringVar(&o.bucketRegion, "oidc-storage-provider-s3-region", "", "region of that bucket (default: --region)")
	f.StringVar(&o.issuerURL, "oidc-issuer-url", "", "issuer with an existing OIDC provider, instead of the bucket")
	f.StringVar(&o.spec.KMSKeyARN, "kms-key-arn", "", "key for the encryption of Secrets; adds the role kms-provider")
	f.BoolVar(&o.spec.AutoNode, "auto-node", false, "add the role karpenter, for nodes on demand")
	f.StringVar(&o.spec.BackupBucket, "backup-bucket", "", "bucket for backups of etcd; adds the role etcd-backup")
	f.StringSliceVar(&o.tags, "additional-tags", nil, "tags of all resources, as key=value")
	f.StringVar(&o.outputFile, "output-file", "", "file for the result as JSON (default: standard output)")
	return c
}

func (o options) create(ctx context.Context, env operation.Environment) error {
	var err error
	if o.spec.Tags, err = operation.ParseTags(o.tags); err != nil {
		return err
	}
	if err := o.readInfra(); err != nil {
		return err
	}
	cfg, err := o.Config(ctx, env)
	if err != nil {
		return err
	}
	s, err := o.complete(cfg.Region)
	if err != nil {
		return err
	}
	if s.IssuerURL == "" {
		return &operation.UsageError{Err: errors.New("--oidc-storage-provider-s3-bucket-name or --oidc-issuer-url is required")}
	}
	if err := operation.Check(s.Validate()); err != nil {
		return err
	}
	roles, err := Prepare(ctx, env, o.Session, o.vpcOwner, cfg, s)
	if err != nil {
		return err
	}
	if _, err := o.Apply(ctx, env, roles.Part); err != nil || o.Plan {
		return err
	}
	return operation.Result(env, o.outputFile, roles.Output)
}

// complete returns the spec with the fields that several flags determine. Without an issuer in the flags, it has none.
func (o options) complete(region string) (clusteriam.Spec, error) {
	s := o.spec
	s.Region = region
	switch {
	case o.issuerURL != "" && o.bucket != "":
		return s, &operation.UsageError{Err: errors.New("--oidc-issuer-url and --oidc-storage-provider-s3-bucket-name exclude each other")}
	case o.issuerURL != "":
		s.IssuerURL, s.ExistingProvider = o.issuerURL, true
	case o.bucket != "":
		s.IssuerURL = clusteriam.S3Issuer(o.bucket, cmp.Or(o.bucketRegion, region), s.InfraID)
	}
	s.Inputs = clusteriam.Inputs{
		VPC: clusteriam.Input{ID: o.vpc}, PublicZone: clusteriam.Input{ID: o.publicZone},
		PrivateZone: clusteriam.Input{ID: o.privateZone}, LocalZone: clusteriam.Input{ID: o.localZone},
	}
	return s, nil
}

// Roles are the provider and the roles of a spec: a part of a graph, and its result, which is known before.
type Roles struct {
	operation.Part
	Output clusteriam.Output
}

// Prepare reads the accounts of a valid spec, and the VPC if the spec has none. It makes no writing call.
func Prepare(ctx context.Context, env operation.Environment, session operation.Session, v operation.VPCOwner, cfg aws.Config, s clusteriam.Spec) (Roles, error) {
	caller, err := awsgraph.CallerOf(ctx, cfg)
	if err != nil {
		return Roles{}, err
	}
	s.Account, s.Partition = caller.Account, caller.Partition
	cloud := clusteriam.NewCloud(cfg, s.Owner())
	ofVPC, shared, err := v.Config(ctx, env, session, cfg)
	if err != nil {
		return Roles{}, err
	}
	if shared {
		if s.VPCOwner, err = v.Account(ctx, env, session, cfg, s.Account); err != nil {
			return Roles{}, err
		}
		cloud.WithVPCOwner(ofVPC)
	}
	if s.Inputs.VPC == (clusteriam.Input{}) {
		if s.Inputs.VPC.ID, err = findVPC(ctx, ofVPC, s.Owner()); err != nil {
			return Roles{}, err
		}
	}
	// The account of a shared VPC adds policies.
	if err := operation.Check(s.Validate()); err != nil {
		return Roles{}, err
	}
	part := operation.Part{State: state(s.InfraID), Scope: scope(caller, s.InfraID), Nodes: cloud.Nodes(s)}
	return Roles{Part: part, Output: clusteriam.NewOutput(s)}, nil
}

func (o *options) readInfra() error {
	if o.infraJSON == "" {
		return nil
	}
	text, err := os.ReadFile(o.infraJSON)
	if err != nil {
		return &operation.UsageError{Err: fmt.Errorf("reading --infra-json: %w", err)}
	}
	var output infra.Output
	if err := json.Unmarshal(text, &output); err != nil {
		return &operation.UsageError{Err: fmt.Errorf("reading --infra-json: %w", err)}
	}
	if o.spec.InfraID = cmp.Or(o.spec.InfraID, output.InfraID); o.spec.InfraID != output.InfraID {
		return &operation.UsageError{Err: fmt.Errorf("--infra-json is of infra ID %s, not %s", output.InfraID, o.spec.InfraID)}
	}
	o.vpc, o.publicZone = cmp.Or(o.vpc, output.VPCID), cmp.Or(o.publicZone, output.PublicZoneID)
	o.privateZone, o.localZone = cmp.Or(o.privateZone, output.PrivateZoneID), cmp.Or(o.localZone, output.LocalZoneID)
	o.Region = cmp.Or(o.Region, output.Region)
	return nil
}

func findVPC(ctx context.Context, cfg aws.Config, owner awsgraph.Owner) (string, error) {
	id, err := infra.NewCloud(cfg, owner).VPCID(ctx)
	if err == nil && id == "" {
		err = fmt.Errorf("no VPC carries the tag %s in %s: create the infrastructure first, or pass --vpc-id", owner.Want(), cfg.Region)
	}
	return id, err
}

func scope(caller awsgraph.Caller, infraID string) map[string]string {
	return map[string]string{"account": caller.Account, "infra ID": infraID}
}

// NewDestroy returns `destroy iam aws`.
func NewDestroy(env operation.Environment) *cobra.Command {
	var o operation.Options
	var v operation.VPCOwner
	var infraID string
	c := operation.Command("aws", "Delete the OIDC provider, the roles and the instance profile of a cluster in AWS",
		"Roles and providers are deleted if they carry the tag kubernetes.io/cluster/<infra-id>=owned, or trust or are the issuer of the infra ID.",
		func(ctx context.Context) error { return destroy(ctx, env, o, v, infraID) })
	c.Example = "  hypershift destroy iam aws --infra-id demo-x7k2p --yes"
	o.Flags(c, true)
	v.Flags(c)
	c.Flags().StringVar(&infraID, "infra-id", "", "infra ID of the cluster (required)")
	return c
}

func destroy(ctx context.Context, env operation.Environment, o operation.Options, v operation.VPCOwner, infraID string) error {
	if infraID == "" {
		return &operation.UsageError{Err: errors.New("--infra-id: Required value")}
	}
	search, err := Search(ctx, env, o.Session, v, infraID)
	if err != nil {
		return err
	}
	return o.Destroy(ctx, env, search)
}

// Search returns the search for the provider and the roles of an infra ID.
func Search(ctx context.Context, env operation.Environment, s operation.Session, v operation.VPCOwner, infraID string) (operation.Search, error) {
	cfg, err := s.Config(ctx, env)
	if err != nil {
		return operation.Search{}, err
	}
	caller, err := awsgraph.CallerOf(ctx, cfg)
	if err != nil {
		return operation.Search{}, err
	}
	cloud := clusteriam.NewCloud(cfg, clusteriam.Spec{InfraID: infraID}.Owner())
	ofVPC, shared, err := v.Config(ctx, env, s, cfg)
	if err != nil {
		return operation.Search{}, err
	}
	if shared {
		cloud.WithVPCOwner(ofVPC)
	}
	return operation.Search{State: state(infraID), Scope: scope(caller, infraID), Discover: func(ctx context.Context, _ func(string) bool) (operation.Finding, error) {
		graph, kept, err := cloud.Discover(ctx)
		if err != nil {
			return operation.Finding{}, err
		}
		finding := operation.Finding{Graph: graph}
		for _, err := range kept {
			finding.Remaining = append(finding.Remaining, err.Error())
		}
		return finding, nil
	}}, nil
}
