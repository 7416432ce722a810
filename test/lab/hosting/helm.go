package hosting

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// Namespace is the namespace of the installation, Release the name of the Helm release.
const (
	Namespace = "hypershift"
	Release   = "hypershift"
)

const namespace = `
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
`

// credentials are the credentials of a role in the management cluster's account. On AWS, a role of the service account replaces
// them.
const credentials = `
apiVersion: v1
kind: Secret
metadata:
  name: ${NAME}
  namespace: ${NAMESPACE}
stringData:
  credentials: |
    [default]
    role_arn = ${ROLE}
    source_profile = account
    [account]
    aws_access_key_id = ${ACCOUNT}
    aws_secret_access_key = any
`

// values are the chart values of the installation.
const values = `
image:
  repository: ${REPOSITORY}
  digest: ${DIGEST}
replicas: 2
access:
  enabled: true
aws:
  region: ${REGION}
  privateLink: true
  credentialsSecret:
    name: aws-credentials
oidc:
  bucket: ${BUCKET}
  region: ${REGION}
extraEnv:
- {name: AWS_ENDPOINT_URL, value: "${ENDPOINT}"}
- {name: AWS_ENDPOINT_URL_STS, value: "${ENDPOINT}"}
- {name: AWS_EC2_METADATA_DISABLED, value: "true"}
`

// publicNames are the additional chart values for external-dns.
const publicNames = `
externalDNS:
  enabled: true
  image: ${IMAGE}
  domainFilters: [${DOMAIN}]
  txtOwnerID: ${OWNER}
  aws:
    credentialsSecret:
      name: external-dns-credentials
`

// sharedRouter are the additional chart values for the shared router.
const sharedRouter = `
sharedRouter:
  enabled: true
  image: ${IMAGE}
`

// Install installs the chart of this checkout, or upgrades to it, and waits until the operator is available.
func (h *Hosting) Install(ctx context.Context) error {
	if err := h.Apply(ctx, map[string]string{"NAMESPACE": Namespace}, namespace); err != nil {
		return err
	}
	if err := h.applyCredentials(ctx, "aws-credentials", h.role); err != nil {
		return err
	}
	repository, digest, _ := strings.Cut(h.Images[images.Operator], "@")
	text, err := fixture.Substitute(values, map[string]string{
		"REPOSITORY": repository, "DIGEST": digest, "REGION": accounts.Region, "BUCKET": h.Management.Bucket, "ENDPOINT": h.AWS.URL,
	})
	if err != nil {
		return fmt.Errorf("writing the values of the chart: %w", err)
	}
	if h.options.SharedRouter {
		more, err := fixture.Substitute(sharedRouter, map[string]string{"IMAGE": h.Images["haproxy"]})
		if err != nil {
			return fmt.Errorf("writing the values of the chart: %w", err)
		}
		text += more
	}
	if h.options.PublicNames {
		if err := h.applyCredentials(ctx, "external-dns-credentials", h.dnsRole); err != nil {
			return err
		}
		more, err := fixture.Substitute(publicNames, map[string]string{"IMAGE": h.Images[images.ExternalDNS], "DOMAIN": Domain, "OWNER": h.Management.ClusterID})
		if err != nil {
			return fmt.Errorf("writing the values of the chart: %w", err)
		}
		text += more
	}
	// The file of registries that clients access over plain HTTP is also for the registry checks of the operator.
	file := filepath.Join(h.Dir, "values.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the values of the chart: %w", err)
	}
	args := []string{"--install", "--values", file}
	if h.options.Values != "" {
		more := filepath.Join(h.Dir, "more-values.yaml")
		if err := os.WriteFile(more, []byte(h.options.Values), 0o644); err != nil {
			return fmt.Errorf("writing the values of the chart: %w", err)
		}
		args = append(args, "--values", more)
	}
	_, err = h.Upgrade(ctx, args...)
	return err
}

// applyCredentials creates the Secret with the credentials of a role.
func (h *Hosting) applyCredentials(ctx context.Context, name, role string) error {
	return h.Apply(ctx, map[string]string{"NAME": name, "NAMESPACE": Namespace, "ROLE": role, "ACCOUNT": h.Management.Account}, credentials)
}

// Upgrade upgrades to the charts of this checkout, waits until the operator is available, and returns the output of Helm.
func (h *Hosting) Upgrade(ctx context.Context, args ...string) (string, error) {
	chart := filepath.Join(h.root, "config", "helm", "hypershift")
	if out, err := h.Helm(ctx, "upgrade", Release+"-crds", chart+"-crds", "--namespace", Namespace, "--install"); err != nil {
		return out, err
	}
	return h.Helm(ctx, append([]string{"upgrade", Release, chart, "--namespace", Namespace, "--wait", "--timeout", "3m"}, args...)...)
}

// Uninstall removes the installation, but not the CRDs and their objects.
func (h *Hosting) Uninstall(ctx context.Context) error {
	_, err := h.Helm(ctx, "uninstall", Release, "--namespace", Namespace, "--ignore-not-found", "--wait", "--timeout", "3m")
	return err
}

// Helm runs helm in the management cluster and returns its output.
func (h *Hosting) Helm(ctx context.Context, args ...string) (string, error) {
	return h.run(ctx, "helm", "", append(args, "--kubeconfig", h.Kubeconfig)...)
}

// Kubectl runs kubectl with a kubeconfig and with text as its input. It returns the output of both streams.
func (h *Hosting) Kubectl(ctx context.Context, kubeconfig, stdin string, args ...string) (string, error) {
	return h.run(ctx, "kubectl", stdin, append([]string{"--kubeconfig", kubeconfig, "--request-timeout=20s"}, args...)...)
}

func (h *Hosting) run(ctx context.Context, program, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, h.Programs[program], args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}
