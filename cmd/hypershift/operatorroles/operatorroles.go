// Package operatorroles implements the commands `create operator-roles aws` and `destroy operator-roles aws`.
package operatorroles

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/operatorroles"
)

func state(prefix string) string { return prefix + "-operator-roles-aws" }

func scope(s operatorroles.Spec) map[string]string {
	return map[string]string{"account": s.Account, "prefix": s.Prefix}
}

const defaultPrefix = "hypershift"

// NewCreate returns `create operator-roles aws`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o operation.Options
	var spec operatorroles.Spec
	var tags []string
	var outputFile string
	c := operation.Command("aws", "Create the roles of the operator and of external-dns in AWS",
		"The roles are in the account of the management cluster, and trust the service accounts of the chart. IAM has to know the issuer of\nthe management cluster. The result has values for the chart.",
		func(ctx context.Context) error { return create(ctx, env, o, spec, tags, outputFile) })
	c.Example = "  hypershift create operator-roles aws --oidc-issuer-url https://oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF --oidc-storage-provider-s3-bucket-name my-oidc-documents --output-file my-values.yaml"
	o.Flags(c, false)
	f := c.Flags()
	f.StringVar(&spec.Prefix, "name-prefix", defaultPrefix, "prefix of the names of the roles")
	f.StringVar(&spec.IssuerURL, "oidc-issuer-url", "", "issuer of the management cluster (required)")
	f.StringVar(&spec.Namespace, "operator-namespace", "hypershift", "namespace of the chart")
	f.StringVar(&spec.Bucket, "oidc-storage-provider-s3-bucket-name", "", "bucket with the OIDC documents of clusters (required)")
	f.StringVar(&spec.BucketRegion, "oidc-storage-provider-s3-region", "", "region of that bucket (default: --region)")
	f.StringVar(&spec.PublicZoneID, "route53-hosted-zone-id", "", "public hosted zone; adds the role of external-dns")
	f.StringVar(&spec.Domain, "external-dns-domain", "", "domain of that zone")
	f.StringSliceVar(&tags, "additional-tags", nil, "tags of all roles, as key=value")
	f.StringVar(&outputFile, "output-file", "", "file for the result as JSON, which is also YAML (default: standard output)")
	return c
}

func create(ctx context.Context, env operation.Environment, o operation.Options, spec operatorroles.Spec, tags []string, outputFile string) error {
	cfg, caller, err := o.Begin(ctx, env, tags, func(tags awsx.Tags) field.ErrorList {
		spec.Tags = tags
		return spec.Validate()
	})
	if err != nil {
		return err
	}
	spec.Region, spec.Account, spec.Partition = cfg.Region, caller.Account, caller.Partition
	spec.BucketRegion = cmp.Or(spec.BucketRegion, cfg.Region)
	part := operation.Part{State: state(spec.Prefix), Scope: scope(spec), Nodes: operatorroles.Nodes(cfg, spec)}
	if _, err := o.Apply(ctx, env, part); err != nil || o.Plan {
		return err
	}
	return operation.Result(env, outputFile, operatorroles.NewOutput(spec))
}

// NewDestroy returns `destroy operator-roles aws`.
func NewDestroy(env operation.Environment) *cobra.Command {
	var o operation.Options
	var spec operatorroles.Spec
	c := operation.Command("aws", "Delete the roles of the operator and of external-dns in AWS",
		"Delete the hosted clusters and the chart first: the operator needs its role to remove what it has created.",
		func(ctx context.Context) error { return destroy(ctx, env, o, spec) })
	c.Example = "  hypershift destroy operator-roles aws --yes"
	o.Flags(c, true)
	c.Flags().StringVar(&spec.Prefix, "name-prefix", defaultPrefix, "prefix of the names of the roles")
	return c
}

func destroy(ctx context.Context, env operation.Environment, o operation.Options, spec operatorroles.Spec) error {
	if spec.Prefix == "" {
		return &operation.UsageError{Err: errors.New("--name-prefix: Required value")}
	}
	cfg, caller, err := o.ConfigAndCaller(ctx, env)
	if err != nil {
		return err
	}
	spec.Account = caller.Account
	return o.Destroy(ctx, env, operation.Search{State: state(spec.Prefix), Scope: scope(spec), Discover: func(ctx context.Context, _ func(string) bool) (operation.Finding, error) {
		graph, kept, err := operatorroles.Discover(ctx, cfg, spec)
		return operation.Finding{Graph: graph, Remaining: kept}, err
	}})
}
