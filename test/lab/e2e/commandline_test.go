//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
)

// TestCommandLine creates a private cluster with three nodes by one command of the command line, adds a node pool, and deletes all by
// another command. The customer's account contains only a public zone. Then it does the same, and kills the program in the
// middle of each command. At last it creates a cluster of each access mode with the required flags only.
func TestCommandLine(t *testing.T) {
	begin(t)
	program := buildCommandLine(t)
	t.Run("one command each", func(t *testing.T) {
		u := newCommandLineUser(t, program, "cli")
		began := time.Now()
		u.must(u.create("--wait", "--timeout", "10m")...)
		t.Logf("created in %.0f s", time.Since(began).Seconds())
		h := u.hosted()
		h.available()
		h.eventually("three nodes are ready", func(ctx context.Context) error { return h.nodesReady(ctx, 3) })
		u.describe(h, 3)
		u.must("create", "nodepool", "aws", "--cluster-name", u.name, "--name", u.name+"-more", "--zone", "us-east-1b", "--replicas", "1", "--wait", "--timeout", "10m")
		h.eventually("four nodes are ready", func(ctx context.Context) error { return h.nodesReady(ctx, 4) })
		began = time.Now()
		u.must(u.destroy()...)
		t.Logf("deleted in %.0f s", time.Since(began).Seconds())
		u.nothingLeft(h)
	})
	t.Run("killed in the middle of each", func(t *testing.T) {
		u := newCommandLineUser(t, program, "killed")
		for _, line := range []string{"created VPC ", "created Policy ", "created Secret ", "created HostedCluster "} {
			u.kill(line, u.create("--wait", "--timeout", "10m")...)
		}
		u.must(u.create("--wait", "--timeout", "10m")...)
		h := u.hosted()
		h.available()
		h.eventually("three nodes are ready", func(ctx context.Context) error { return h.nodesReady(ctx, 3) })
		for _, line := range []string{"deleting HostedCluster ", "HostedCluster " + u.name + ": ", "deleted Role ", "deleted VPC "} {
			u.kill(line, u.destroy()...)
		}
		u.must(u.destroy()...)
		u.nothingLeft(h)
	})
	// external-dns of the lab does not write to the zones of customers: the addresses that nodes need have no names there.
	for access, balancers := range map[hyperv1.AWSEndpointAccessType]int{hyperv1.Public: 1, hyperv1.PublicAndPrivate: 3, hyperv1.Private: 1} {
		t.Run("only the required flags "+string(access), func(t *testing.T) {
			u := newCommandLineUser(t, program, "plain-"+strings.ToLower(string(access)))
			u.must(append(u.createPlain(access), "--wait", "--timeout", "10m")...)
			h := u.hosted()
			h.available()
			h.eventually("the API server reaches a node through a tunnel", func(ctx context.Context) error {
				out, err := on.Kubectl(ctx, h.kubeconfig, "", "logs", "-n", "kube-system", "daemonset/kube-proxy")
				if err != nil {
					return fmt.Errorf("kubectl logs: %s: %w", out, err)
				}
				return nil
			})
			services := &corev1.ServiceList{}
			h.must(h.management.List(t.Context(), services, client.InNamespace(h.namespace())))
			services.Items = slices.DeleteFunc(services.Items, func(s corev1.Service) bool { return s.Spec.Type != corev1.ServiceTypeLoadBalancer })
			if len(services.Items) != balancers {
				t.Errorf("the cluster has %d load balancers, want %d", len(services.Items), balancers)
			}
			u.must(u.destroy()...)
			u.nothingLeft(h)
		})
	}
}

// buildCommandLine builds the program as `make build` does.
func buildCommandLine(t *testing.T) string {
	t.Helper()
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "hypershift")
	err = gobuild.Run(t.Context(), io.Discard, gobuild.Spec{
		Label: "building hypershift", Dir: root, Packages: []string{"./cmd/hypershift"}, Flags: []string{"-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w"},
		Env: []string{"CGO_ENABLED=0"}, Output: program,
	})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// commandLineUser is a user with an account that has only a public zone.
type commandLineUser struct {
	t             *testing.T
	program, name string
	namespace     string
	account       string
	domain        string
	env           []string
}

func newCommandLineUser(t *testing.T, program, name string) *commandLineUser {
	t.Helper()
	u := &commandLineUser{t: t, program: program, name: name, namespace: "clusters", account: fmt.Sprintf("5%011d", rand.Int64N(1e11)), domain: name + ".example.org"}
	err := on.AWS.Given(t.Context(), u.account, func() error {
		_, err := route53.NewFromConfig(on.AWS.Config(u.account)).CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{
			Name: aws.String(u.domain), CallerReference: aws.String(u.account),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	u.env = append(on.AWS.Env(u.account), "HOME="+home, "KUBECONFIG="+on.Kubeconfig, "PATH="+os.Getenv("PATH"))
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		// Machines of a failed scenario would disturb the others.
		out, err := u.run(context.WithoutCancel(t.Context()), "", u.destroy()...)
		t.Logf("%s %v", out, err)
	})
	return u
}

func (u *commandLineUser) create(more ...string) []string {
	return append([]string{
		"create", "cluster", "aws", "--name", u.name, "--base-domain", u.domain, "--zones", "us-east-1a,us-east-1b,us-east-1c",
		"--endpoint-access", "Private", "--control-plane-availability-policy", "SingleReplica", "--release-image", release(u.t, on.Versions[0]),
	}, more...)
}

// createPlain returns the command with only the required flags.
func (u *commandLineUser) createPlain(access hyperv1.AWSEndpointAccessType) []string {
	args := []string{"create", "cluster", "aws", "--name", u.name, "--release-image", release(u.t, on.Versions[0])}
	if access != hyperv1.Public {
		args = append(args, "--endpoint-access", string(access))
	}
	if access != hyperv1.Private {
		args = append(args, "--base-domain", u.domain)
	}
	return args
}

func (u *commandLineUser) destroy() []string {
	return []string{"destroy", "cluster", "aws", "--name", u.name, "--yes"}
}

// run runs a command and returns its output. It kills the program after a line that begins with that text, without the time.
func (u *commandLineUser) run(ctx context.Context, killAt string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, u.program, args...)
	cmd.Env = u.env
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var text strings.Builder
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			line := lines.Text()
			text.WriteString(line + "\n")
			if len(line) > len("15:04:05 ") && line[2] == ':' {
				line = line[len("15:04:05 "):]
			}
			if killAt != "" && strings.HasPrefix(line, killAt) {
				_ = cmd.Process.Kill() // it may have ended
				killAt = ""
			}
		}
	})
	err := cmd.Wait()
	_ = in.Close() // never fails
	reading.Wait()
	return text.String(), err
}

func (u *commandLineUser) must(args ...string) {
	u.t.Helper()
	out, err := u.run(u.t.Context(), "", args...)
	if err != nil {
		state, _ := on.Kubectl(context.WithoutCancel(u.t.Context()), on.Kubeconfig, "", "get", "hostedcluster,nodepool", "-A", "-o", "yaml")
		u.t.Fatalf("hypershift %s: %v\n%s\n%s", strings.Join(args, " "), err, out, state)
	}
	u.t.Logf("hypershift %s\n%s", strings.Join(args, " "), out)
}

// kill runs a command and kills it with SIGKILL after a line that begins with that text.
func (u *commandLineUser) kill(line string, args ...string) {
	u.t.Helper()
	out, err := u.run(u.t.Context(), line, args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		u.t.Fatalf("hypershift %s was not killed at %q: %v\n%s", strings.Join(args, " "), line, err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	u.t.Logf("killed after %d lines, at: %s", len(lines), lines[len(lines)-1])
}

// hosted returns the cluster for the checks that scenarios have in common.
func (u *commandLineUser) hosted() *hosted {
	u.t.Helper()
	h := readHosted(u.t, "", nil)
	h.customer = &accounts.Customer{Customer: &awsemulator.Customer{Account: u.account}}
	h.hc.Namespace, h.hc.Name = u.namespace, u.name
	h.must(h.management.Get(u.t.Context(), client.ObjectKeyFromObject(h.hc), h.hc))
	return h
}

// describe waits until the tree of the cluster has so many NodePools, its VPC endpoint, and no problem.
func (u *commandLineUser) describe(h *hosted, pools int) {
	u.t.Helper()
	h.eventually("the tree of the cluster has no problem", func(ctx context.Context) error {
		out, err := u.run(ctx, "", "describe", "cluster", u.name)
		if err != nil {
			return fmt.Errorf("hypershift describe cluster %s: %w\n%s", u.name, err, out)
		}
		isProblem := func(row string) bool { return strings.Contains(row, " False ") }
		if strings.Count(out, "NodePool ") != pools || !strings.Contains(out, "VPCEndpoint vpce-") || slices.ContainsFunc(strings.Split(out, "\n"), isProblem) {
			return fmt.Errorf("hypershift describe cluster %s prints\n%s", u.name, out)
		}
		u.t.Logf("hypershift describe cluster %s\n%s", u.name, out)
		return nil
	})
}

// nothingLeft fails unless both accounts and the management cluster are as they were.
func (u *commandLineUser) nothingLeft(h *hosted) {
	u.t.Helper()
	// Not eventually: the command has returned.
	h.must(h.left(u.t.Context()))
	out, err := on.Kubectl(u.t.Context(), on.Kubeconfig, "", "get", "hostedcluster,nodepool,secret,configmap", "-n", u.namespace, "-o", "name")
	h.must(err)
	if left := slices.DeleteFunc(strings.Fields(out), func(name string) bool {
		_, name, _ = strings.Cut(name, "/")
		return !strings.HasPrefix(name, u.name+"-") && name != u.name
	}); len(left) > 0 {
		u.t.Errorf("left in the management cluster: %v", left)
	}
}
