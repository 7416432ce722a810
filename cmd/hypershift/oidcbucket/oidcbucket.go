// Package oidcbucket implements the commands `create oidc-bucket aws` and `destroy oidc-bucket aws`.
package oidcbucket

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/oidcbucket"
)

func state(bucket string) string { return bucket + "-oidc-bucket-aws" }

func scope(s oidcbucket.Spec) map[string]string {
	return map[string]string{"account": s.Account, "region": s.Region, "bucket": s.Name}
}

// NewCreate returns `create oidc-bucket aws`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o operation.Options
	var spec oidcbucket.Spec
	var tags []string
	var outputFile string
	c := operation.Command("aws", "Create the bucket of the OIDC documents of clusters in AWS",
		"AWS reads the documents without credentials, so that all objects of the bucket are public. Access control lists stay blocked.\nThe result has values for the chart.",
		func(ctx context.Context) error { return create(ctx, env, o, spec, tags, outputFile) })
	c.Example = "  hypershift create oidc-bucket aws --name my-oidc-documents --region us-east-1"
	o.Flags(c, false)
	f := c.Flags()
	f.StringVar(&spec.Name, "name", "", "name of the bucket, unique in all of AWS (required)")
	f.StringSliceVar(&tags, "additional-tags", nil, "tags of the bucket, as key=value")
	f.StringVar(&outputFile, "output-file", "", "file for the result as JSON (default: standard output)")
	return c
}

func create(ctx context.Context, env operation.Environment, o operation.Options, spec oidcbucket.Spec, tags []string, outputFile string) error {
	cfg, caller, err := o.Begin(ctx, env, tags, func(tags awsx.Tags) field.ErrorList {
		spec.Tags = tags
		return spec.Validate()
	})
	if err != nil {
		return err
	}
	spec.Region, spec.Account, spec.Partition = cfg.Region, caller.Account, caller.Partition
	part := operation.Part{State: state(spec.Name), Scope: scope(spec), Nodes: oidcbucket.NewCloud(cfg).Nodes(spec)}
	if _, err := o.Apply(ctx, env, part); err != nil || o.Plan {
		return err
	}
	return operation.Result(env, outputFile, oidcbucket.NewOutput(spec))
}

// NewDestroy returns `destroy oidc-bucket aws`.
func NewDestroy(env operation.Environment) *cobra.Command {
	var o operation.Options
	var spec oidcbucket.Spec
	c := operation.Command("aws", "Delete the bucket of the OIDC documents of clusters in AWS",
		"A bucket with documents is not deleted: AWS checks the tokens of hosted clusters with them.",
		func(ctx context.Context) error { return destroy(ctx, env, o, spec) })
	c.Example = "  hypershift destroy oidc-bucket aws --name my-oidc-documents --yes"
	o.Flags(c, true)
	c.Flags().StringVar(&spec.Name, "name", "", "name of the bucket (required)")
	return c
}

func destroy(ctx context.Context, env operation.Environment, o operation.Options, spec oidcbucket.Spec) error {
	if spec.Name == "" {
		return &operation.UsageError{Err: errors.New("--name: Required value")}
	}
	cfg, caller, err := o.ConfigAndCaller(ctx, env)
	if err != nil {
		return err
	}
	spec.Region, spec.Account, spec.Partition = cfg.Region, caller.Account, caller.Partition
	return o.Destroy(ctx, env, operation.Search{State: state(spec.Name), Scope: scope(spec), Discover: func(ctx context.Context, recorded func(string) bool) (operation.Finding, error) {
		graph, kept, err := oidcbucket.NewCloud(cfg).Discover(ctx, spec, recorded)
		return operation.Finding{Graph: graph, Remaining: kept}, err
	}})
}
