package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/supportedversions"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

// Version is the version of the program.
type Version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Operator is the operator's version in the management cluster.
	Operator *OperatorVersion `json:"operator,omitempty"`
}

// OperatorVersion is the version of the operator of a management cluster.
type OperatorVersion struct {
	Version string `json:"version"`
	Image   string `json:"image"`
	// SupportedVersions are the versions of Kubernetes that hosted clusters can have, the newest first, if the operator has published them.
	SupportedVersions []string `json:"supportedVersions,omitempty"`
}

func newVersion(env operation.Environment) *cobra.Command {
	var f management.Flags
	var output, namespace string
	var operator bool
	c := operation.Command("version", "Print the version of this program, and of the operator", "", func(ctx context.Context) error {
		if output != "text" && output != "json" {
			return &operation.UsageError{Err: errors.New("--output must be text or json")}
		}
		info := version.Get()
		v := Version{Version: info.Version, Commit: info.Commit, Date: info.Date, Go: info.Go, Platform: info.Platform}
		var problem error
		if operator {
			v.Operator, problem = operatorVersion(ctx, f, namespace)
		}
		if output == "json" {
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("writing the version: %w", err)
			}
			fmt.Fprintln(env.Out, string(text))
			return problem
		}
		fmt.Fprintf(env.Out, "hypershift %s\n", info)
		if v.Operator != nil {
			fmt.Fprintf(env.Out, "hypershift-operator %s (%s)\n", v.Operator.Version, v.Operator.Image)
			if supported := v.Operator.SupportedVersions; len(supported) > 0 {
				fmt.Fprintf(env.Out, "hosted clusters can have Kubernetes %s\n", strings.Join(supported, ", "))
			}
		}
		return problem
	})
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	c.Flags().BoolVar(&operator, "operator", false, "also print the version of the operator in the management cluster")
	c.Flags().StringVar(&namespace, "operator-namespace", "hypershift", "namespace of the operator")
	f.Add(c)
	return c
}

func operatorVersion(ctx context.Context, f management.Flags, namespace string) (*OperatorVersion, error) {
	c, _, err := f.Client()
	if err != nil {
		return nil, err
	}
	d := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.HypershiftOperator}, d); err != nil {
		return nil, fmt.Errorf("reading the Deployment of the operator: %w", err)
	}
	facts := prerequisites.Facts{Operator: d}
	v := &OperatorVersion{Version: facts.VersionOf()}
	if v.Version == "" {
		v.Version = "unknown"
	}
	if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
		v.Image = containers[0].Image
	}
	published := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: supportedversions.Name}, published); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the versions that the operator supports: %w", err)
	}
	v.SupportedVersions = supportedversions.Of(published)
	return v, nil
}
