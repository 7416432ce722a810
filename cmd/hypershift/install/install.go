// Package install implements the commands `install` and `install render`.
package install

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/installation"
)

const long = `The command installs the chart of the CRDs, makes values for the chart of the operator from its flags and installs that. It runs helm, which
must be in the path. The charts are those that this program was built with, or those of --crds-chart and --chart. All values of the chart can be set with --values and --set; they override those of flags.`

type options struct {
	management.Flags
	installation.Options
	namespace, chart, crdsChart, privatePlatform, dnsProvider string
	values, set                                               []string
}

func (o *options) add(f *pflag.FlagSet) {
	f.StringVar(&o.namespace, "namespace", "hypershift", "namespace of the operator")
	f.StringVar(&o.chart, "chart", "", "directory, file or OCI reference of the chart (default: the built-in one)")
	f.StringVar(&o.crdsChart, "crds-chart", "", "directory, file or OCI reference of the chart of the CRDs (default: the built-in one)")
	f.StringArrayVarP(&o.values, "values", "f", nil, "file with values of the chart")
	f.StringArrayVar(&o.set, "set", nil, "value of the chart, as key=value")
	f.StringVar(&o.Image, "hypershift-image", "", "image of the operators (default: that of the chart)")
	f.IntVar(&o.Replicas, "hypershift-operator-replicas", 0, "replicas of the operator (default: that of the chart)")
	f.StringVar(&o.OIDCBucket, "oidc-storage-provider-s3-bucket-name", "", "bucket for the OIDC documents of clusters in AWS")
	f.StringVar(&o.OIDCRegion, "oidc-storage-provider-s3-region", "", "region of that bucket")
	f.StringVar(&o.OIDCSecret, "oidc-storage-provider-s3-secret", "", "Secret with other credentials for the bucket")
	f.StringVar(&o.privatePlatform, "private-platform", "None", "AWS: the operator creates endpoint services for private clusters; or None")
	f.StringVar(&o.AWSRegion, "aws-private-region", "", "region of the management cluster")
	f.StringVar(&o.AWSSecret, "aws-private-secret", "", "Secret with the AWS credentials of the operator")
	f.StringVar(&o.AWSRole, "aws-private-role-arn", "", "role of the operator, which trusts its service account")
	f.StringVar(&o.dnsProvider, "external-dns-provider", "", "aws: install external-dns for public host names")
	f.StringSliceVar(&o.ExternalDNSDomains, "external-dns-domain-filter", nil, "domains that external-dns may write to")
	f.StringVar(&o.ExternalDNSOwner, "external-dns-txt-owner-id", "", "owner of the records; use it for one installation only")
	f.StringVar(&o.ExternalDNSRole, "external-dns-role-arn", "", "role of external-dns")
	f.StringVar(&o.ExternalDNSSecret, "external-dns-secret", "", "Secret with the AWS credentials of external-dns")
	f.StringToStringVar(&o.RegistryOverrides, "registry-overrides", nil, "mirrors of registries, as source=mirror")
	f.StringVar(&o.MetricsSet, "metrics-set", "", "All, or Hypershift for fewer metrics (default: that of the chart)")
}

func (o *options) text() ([]byte, error) {
	switch o.privatePlatform {
	case "AWS", "None":
		o.PrivateLink = o.privatePlatform == "AWS"
	default:
		return nil, &operation.UsageError{Err: errors.New("--private-platform must be AWS or None")}
	}
	switch o.dnsProvider {
	case "aws", "":
		o.ExternalDNS = o.dnsProvider != ""
	default:
		return nil, &operation.UsageError{Err: errors.New("--external-dns-provider must be aws")}
	}
	if err := operation.Check(o.Validate()); err != nil {
		return nil, err
	}
	return o.Values()
}

// helm runs a command of helm for the chart of the CRDs, and then for the operator's chart.
func (o *options) helm(ctx context.Context, env operation.Environment, text []byte, command string, args ...string) error {
	args = append(args, "--namespace", o.namespace)
	if o.Context != "" {
		args = append(args, "--kube-context", o.Context)
	}
	if o.Kubeconfig != "" {
		args = append(args, "--kubeconfig", o.Kubeconfig)
	}
	crds := installation.Helm{BuiltIn: installation.CRDsChart, Chart: o.crdsChart, Out: env.Out, Err: env.Err}
	if err := crds.Run(ctx, nil, append([]string{command, installation.CRDsChart}, args...)...); err != nil {
		return err
	}
	for _, file := range o.values {
		args = append(args, "--values", file)
	}
	for _, pair := range o.set {
		args = append(args, "--set", pair)
	}
	operator := installation.Helm{BuiltIn: installation.OperatorChart, Chart: o.chart, Out: env.Out, Err: env.Err}
	return operator.Run(ctx, text, append([]string{command, installation.OperatorChart}, args...)...)
}

// New returns `install`, with the subcommand render.
func New(env operation.Environment) *cobra.Command {
	var o options
	var wait bool
	c := operation.Command("install", "Install or upgrade the hypershift-operator with Helm", long, func(ctx context.Context) error {
		text, err := o.text()
		if err != nil {
			return err
		}
		args := []string{"--install", "--create-namespace"}
		if wait {
			args = append(args, "--wait", "--timeout", "5m")
		}
		return o.helm(ctx, env, text, "upgrade", args...)
	})
	c.Example = "  hypershift install --oidc-storage-provider-s3-bucket-name my-oidc --oidc-storage-provider-s3-region us-east-1 \\\n" +
		"    --private-platform AWS --aws-private-region us-east-1 --aws-private-role-arn arn:aws:iam::111111111111:role/hypershift-operator"
	o.Flags.Add(c)
	o.add(c.Flags())
	c.Flags().BoolVar(&wait, "wait-until-available", false, "wait until the operator runs")
	c.AddCommand(newRender(env))
	return c
}

func newRender(env operation.Environment) *cobra.Command {
	var o options
	var outputs string
	c := operation.Command("render", "Print what install would apply, or the values for Helm", "Nothing is read from or written to a cluster. `--outputs values` needs no helm.",
		func(ctx context.Context) error {
			if outputs != "manifests" && outputs != "values" {
				return &operation.UsageError{Err: errors.New("--outputs must be manifests or values")}
			}
			text, err := o.text()
			if err != nil {
				return err
			}
			if outputs == "values" {
				if _, err := env.Out.Write(text); err != nil {
					return fmt.Errorf("writing the values: %w", err)
				}
				return nil
			}
			return o.helm(ctx, env, text, "template")
		})
	c.Example = "  hypershift install render --outputs values --oidc-storage-provider-s3-bucket-name my-oidc --oidc-storage-provider-s3-region us-east-1"
	o.add(c.Flags())
	c.Flags().StringVar(&outputs, "outputs", "manifests", "manifests, or values: those of the flags only")
	return c
}
