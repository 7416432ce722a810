// Package installation makes the values of the Helm chart from the flags that users of other hypershift command lines know, and runs Helm.
package installation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/config/helm"
)

// Options are the settings by flags. The chart has more values.
type Options struct {
	Image                                                string
	Replicas                                             int
	OIDCBucket, OIDCRegion, OIDCSecret                   string
	PrivateLink                                          bool
	AWSRegion, AWSSecret, AWSRole                        string
	ExternalDNS                                          bool
	ExternalDNSDomains                                   []string
	ExternalDNSOwner, ExternalDNSRole, ExternalDNSSecret string
	RegistryOverrides                                    map[string]string
	MetricsSet                                           string
}

// Validate returns the errors of the options. Paths are names of flags. Helm checks the rest.
func (o Options) Validate() field.ErrorList {
	var errs field.ErrorList
	flag := func(name string) *field.Path { return field.NewPath("--" + name) }
	if o.OIDCBucket != "" && o.OIDCRegion == "" {
		errs = append(errs, field.Required(flag("oidc-storage-provider-s3-region"), "for the bucket"))
	}
	if o.OIDCBucket == "" && (o.OIDCRegion != "" || o.OIDCSecret != "") {
		errs = append(errs, field.Required(flag("oidc-storage-provider-s3-bucket-name"), ""))
	}
	if strings.Contains(o.OIDCBucket, ".") {
		errs = append(errs, field.Invalid(flag("oidc-storage-provider-s3-bucket-name"), o.OIDCBucket, "must not have dots: the certificate of S3 is not valid for them"))
	}
	if o.PrivateLink && o.AWSRegion == "" {
		errs = append(errs, field.Required(flag("aws-private-region"), "for --private-platform AWS"))
	}
	if o.AWSRole != "" && o.AWSSecret != "" {
		errs = append(errs, field.Invalid(flag("aws-private-secret"), o.AWSSecret, "excludes --aws-private-role-arn"))
	}
	if o.ExternalDNS {
		if len(o.ExternalDNSDomains) == 0 {
			errs = append(errs, field.Required(flag("external-dns-domain-filter"), "for --external-dns-provider"))
		}
		if o.ExternalDNSOwner == "" {
			errs = append(errs, field.Required(flag("external-dns-txt-owner-id"), "for --external-dns-provider"))
		}
	}
	return errs
}

// values is a tree of values. Empty ones are left out, so that the chart's values apply.
type values map[string]any

func (v values) set(value any, path ...string) {
	switch x := value.(type) {
	case string:
		if x == "" {
			return
		}
	case bool:
		if !x {
			return
		}
	case int:
		if x == 0 {
			return
		}
	case []string:
		if len(x) == 0 {
			return
		}
	case map[string]string:
		if len(x) == 0 {
			return
		}
	}
	for _, key := range path[:len(path)-1] {
		next, ok := v[key].(values)
		if !ok {
			next = values{}
			v[key] = next
		}
		v = next
	}
	v[path[len(path)-1]] = value
}

// Values returns the values of the chart, as YAML.
func (o Options) Values() ([]byte, error) {
	v := values{}
	if o.Image != "" {
		repository, tag, digest := splitImage(o.Image)
		v.set(repository, "image", "repository")
		v.set(tag, "image", "tag")
		v.set(digest, "image", "digest")
	}
	v.set(o.Replicas, "replicas")
	v.set(o.OIDCBucket, "oidc", "bucket")
	v.set(o.OIDCRegion, "oidc", "region")
	v.set(o.OIDCSecret, "oidc", "credentialsSecret", "name")
	v.set(o.PrivateLink, "aws", "privateLink")
	v.set(o.AWSRegion, "aws", "region")
	v.set(o.AWSSecret, "aws", "credentialsSecret", "name")
	v.set(o.AWSRole, "aws", "roleARN")
	v.set(o.ExternalDNS, "externalDNS", "enabled")
	v.set(o.ExternalDNSDomains, "externalDNS", "domainFilters")
	v.set(o.ExternalDNSOwner, "externalDNS", "txtOwnerID")
	v.set(o.ExternalDNSRole, "externalDNS", "aws", "roleARN")
	v.set(o.ExternalDNSSecret, "externalDNS", "aws", "credentialsSecret", "name")
	v.set(o.RegistryOverrides, "registryOverrides")
	v.set(o.MetricsSet, "monitoring", "metricsSet")
	text, err := yaml.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing the values: %w", err)
	}
	return text, nil
}

// splitImage splits repository:tag@digest.
func splitImage(image string) (repository, tag, digest string) {
	repository, digest, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(repository, ":"); i > strings.LastIndex(repository, "/") {
		repository, tag = repository[:i], repository[i+1:]
	}
	return repository, tag, digest
}

// The charts that are built in.
const (
	OperatorChart = "hypershift"
	CRDsChart     = "hypershift-crds"
)

// Helm runs the program of that name with a chart of this command line, or another one.
type Helm struct {
	// Program is the path of helm; empty: it is looked up in the path.
	Program string
	// BuiltIn is the chart that is used if Chart is empty. Chart is a directory, a file or a reference.
	BuiltIn, Chart string
	Out, Err       io.Writer
	Environment    []string
}

// ErrNoHelm is returned if there is no helm.
var ErrNoHelm = errors.New("helm is not in the path: install Helm 3.18 or later, or write the values with `install render --outputs values` and use them where Helm is")

// Run runs a command of helm. The chart and the values, if there are any, are added to the arguments.
func (h Helm) Run(ctx context.Context, text []byte, args ...string) (err error) {
	program := h.Program
	if program == "" {
		if program, err = exec.LookPath("helm"); err != nil {
			return ErrNoHelm
		}
	}
	dir, err := os.MkdirTemp("", "hypershift-install-")
	if err != nil {
		return fmt.Errorf("creating a directory for the chart: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	chart := h.Chart
	if chart == "" {
		if chart, err = unpack(dir, h.BuiltIn); err != nil {
			return err
		}
	}
	all := []string{args[0], args[1], chart}
	if text != nil {
		file := filepath.Join(dir, "values.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return fmt.Errorf("writing the values: %w", err)
		}
		// The user's own values come after these, and override them.
		all = append(all, "--values", file)
	}
	all = append(all, args[2:]...)
	cmd := exec.CommandContext(ctx, program, all...) //nolint:gosec // helm, for the user of the command line
	cmd.Stdout, cmd.Stderr = h.Out, h.Err
	cmd.Env = append(os.Environ(), h.Environment...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("helm %s: %w", args[0], err)
	}
	return nil
}

// unpack writes a built-in chart into a directory.
func unpack(dir, name string) (string, error) {
	chart := filepath.Join(dir, name)
	root, err := fs.Sub(helm.Charts, name)
	if err != nil {
		return "", fmt.Errorf("reading the built-in chart: %w", err)
	}
	if err := os.CopyFS(chart, root); err != nil {
		return "", fmt.Errorf("writing the built-in chart: %w", err)
	}
	return chart, nil
}
