//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// tenantAccess holds the objects that an administrator of the management cluster creates for a tenant: a namespace, and the ClusterRole
// admin of Kubernetes in it. Another member of the team has view.
const tenantAccess = `
apiVersion: v1
kind: Namespace
metadata:
  name: NAMESPACE
---
apiVersion: v1
kind: ServiceAccount
metadata:
  namespace: NAMESPACE
  name: tenant
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  namespace: NAMESPACE
  name: tenant
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects:
- {kind: ServiceAccount, namespace: NAMESPACE, name: tenant}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  namespace: NAMESPACE
  name: reader
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  namespace: NAMESPACE
  name: reader
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: ServiceAccount, namespace: NAMESPACE, name: reader}
`

// TestTenant creates, describes, enters, dumps and deletes a private cluster as an administrator of one namespace of the management
// cluster, while a neighbour owns a cluster in another namespace.
func TestTenant(t *testing.T) {
	begin(t)
	program := buildCommandLine(t)
	neighbour := newCommandLineUser(t, program, "neighbour")
	neighbour.must(append(neighbour.createPlain(hyperv1.Private), "--node-pool-replicas", "-1", "--control-plane-availability-policy", "SingleReplica")...)

	u := newCommandLineUser(t, program, "tenant")
	u.becomeTenant("team-tenant")
	u.must(append(u.createPlain(hyperv1.Private), "--control-plane-availability-policy", "SingleReplica", "--wait", "--timeout", "10m")...)
	h := u.hosted()
	plane := h.namespace()

	t.Run("the tree has one row for the control plane", func(t *testing.T) {
		out, err := u.run(t.Context(), "", "describe", "cluster", u.name)
		if err != nil || strings.Contains(out, "CannotBeListed") || strings.Count(out, "Forbidden") != 1 || !strings.Contains(out, "NodePool "+u.name) {
			t.Errorf("%v\n%s", err, out)
		}
		t.Log(out)
	})
	t.Run("an administrator enters", func(t *testing.T) {
		path := u.forward(t, "admin")
		h.eventually("kubectl get nodes has a node", func(ctx context.Context) error {
			out, err := on.Kubectl(ctx, path, "", "get", "nodes")
			if err == nil && !strings.Contains(out, " Ready ") {
				err = errors.New(out)
			}
			return err
		})
		out, err := on.Kubectl(t.Context(), path, "", "auth", "whoami")
		if user := "management:system:serviceaccount:" + u.namespace + ":tenant"; err != nil || !strings.Contains(out, user) || !strings.Contains(out, names.AdminGroup) {
			t.Errorf("%v\n%s", err, out)
		}
		if out, err := on.Kubectl(t.Context(), path, "", "create", "namespace", "of-the-tenant"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if out, err := on.Kubectl(t.Context(), path, "", "logs", "-n", "kube-system", "daemonset/kube-proxy"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("a viewer reads everything but Secrets", func(t *testing.T) {
		path := u.forward(t, "viewer")
		for command, allowed := range map[string]bool{
			"get nodes": true, "get pods -A": true, "get clusterrolebindings": true, "get customresourcedefinitions": true, "get storageclasses": true,
			"get secrets -A": false, "create namespace of-the-viewer": false, "delete node --all --dry-run=server": false,
			"create token default -n default": false, "auth can-i impersonate users": false,
		} {
			if out, err := on.Kubectl(t.Context(), path, "", strings.Fields(command)...); (err == nil) != allowed {
				t.Errorf("kubectl %s: %v\n%s", command, err, out)
			}
		}
	})
	t.Run("a user with view reads, and gets no administrator's kubeconfig", func(t *testing.T) {
		reader := u.as(t, "reader")
		for command, allowed := range map[string]bool{
			"get clusters": true, "get nodepools --cluster " + u.name + " -o wide": true, "describe cluster " + u.name: true,
			"create kubeconfig " + u.name + " --role viewer": true, "create kubeconfig " + u.name + " --role admin": false, "create kubeconfig " + u.name: false,
			"get clusters -n clusters": false,
		} {
			out, err := reader.run(t.Context(), "", strings.Fields(command)...)
			if (err == nil) != allowed || !allowed && !strings.Contains(out, "forbidden") {
				t.Errorf("hypershift %s: %v\n%s", command, err, out)
			}
		}
		for _, what := range []string{"delete hostedclusters", "patch nodepools", "get secrets"} {
			if out, err := reader.kubectl(t.Context(), append([]string{"auth", "can-i"}, strings.Fields(what)...)...); err == nil || !strings.HasPrefix(strings.TrimSpace(out), "no") {
				t.Errorf("the reader may %s: %s", what, out)
			}
		}
		path := reader.forward(t, "viewer")
		if out, err := on.Kubectl(t.Context(), path, "", "get", "nodes"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("each kubeconfig is recorded", func(t *testing.T) {
		out, err := u.kubectl(t.Context(), "get", "events", "-n", u.namespace)
		for _, group := range []string{names.AdminGroup, names.ViewerGroup} {
			if want := "User system:serviceaccount:" + u.namespace + ":tenant has got a kubeconfig of group " + group; err != nil || !strings.Contains(out, want) {
				t.Errorf("no event %q: %v\n%s", want, err, out)
			}
		}
	})
	t.Run("a dump has the hosted cluster", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "dump")
		out, err := u.run(t.Context(), "", "dump", "cluster", u.name, "--artifact-dir", dir)
		if err != nil || !strings.Contains(out, "your permissions do not include") {
			t.Errorf("%v\n%s", err, out)
		}
		if nodes, err := os.ReadDir(filepath.Join(dir, "hosted", "cluster", "nodes")); err != nil || len(nodes) == 0 {
			t.Errorf("the dump has %d nodes: %v\n%s", len(nodes), err, out)
		}
		t.Log(out)
	})
	t.Run("the control plane and the neighbour stay out of reach", func(t *testing.T) {
		for _, command := range [][]string{
			{"create", "kubeconfig", "neighbour", "-n", "clusters", "--role", "viewer"}, {"create", "kubeconfig", "neighbour", "-n", "clusters", "--role", "admin"},
			{"create", "kubeconfig", "neighbour", "-n", "clusters"}, {"describe", "cluster", "neighbour", "-n", "clusters"},
			{"dump", "cluster", "neighbour", "-n", "clusters", "--artifact-dir", filepath.Join(t.TempDir(), "dump")},
			{"destroy", "cluster", "aws", "neighbour", "-n", "clusters", "--yes"},
		} {
			if out, err := u.run(t.Context(), "", command...); err == nil || !strings.Contains(out, "forbidden") {
				t.Errorf("hypershift %s: %v\n%s", strings.Join(command, " "), err, out)
			}
		}
		api := "/apis/access.hypershift.openshift.io/v1alpha1/namespaces/clusters/hostedclusters/neighbour/"
		if out, err := u.kubectl(t.Context(), "get", "--raw", api+"tunnel"); err == nil || !strings.Contains(out, "cannot get resource \"hostedclusters/tunnel\"") {
			t.Errorf("a tunnel to the neighbour: %v\n%s", err, out)
		}
		for _, namespace := range []string{plane, "clusters", "hypershift"} {
			for _, what := range []string{"get secrets", "list pods", "create pods/portforward", "get hostedcontrolplanes", "get hostedclusters"} {
				out, err := u.kubectl(t.Context(), append(append([]string{"auth", "can-i"}, strings.Fields(what)...), "-n", namespace)...)
				if err == nil || !strings.HasPrefix(strings.TrimSpace(out), "no") {
					t.Errorf("the tenant may %s in namespace %s: %s", what, namespace, out)
				}
			}
		}
		// The Service of the operator is reachable from pods. Headers name no user there.
		out, err := on.Kubectl(t.Context(), on.Kubeconfig, "", "get", "--raw", "/api/v1/namespaces/hypershift/services/https:hypershift-access:https/proxy"+api+"tunnel")
		if err == nil || !strings.Contains(out, "only the API server of the management cluster may call this API") {
			t.Errorf("the Service of the operator answers a client that is not the front proxy: %v\n%s", err, out)
		}
	})
	u.must("destroy", "cluster", "aws", u.name, "--yes")
	u.nothingLeft(h)
	other := neighbour.hosted()
	neighbour.must(neighbour.destroy()...)
	neighbour.nothingLeft(other)
}

// becomeTenant gives the user a kubeconfig with the permissions of a tenant, and deletes the namespace at the end.
func (u *commandLineUser) becomeTenant(namespace string) {
	u.t.Helper()
	if _, err := on.Kubectl(u.t.Context(), on.Kubeconfig, strings.ReplaceAll(tenantAccess, "NAMESPACE", namespace), "apply", "-f", "-"); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() {
		if out, err := on.Kubectl(context.WithoutCancel(u.t.Context()), on.Kubeconfig, "", "delete", "namespace", namespace, "--wait=false"); err != nil {
			u.t.Errorf("%v\n%s", err, out)
		}
	})
	u.namespace = namespace
	u.env = u.as(u.t, "tenant").env
}

// as returns the user with the permissions of a service account of the namespace.
func (u *commandLineUser) as(t *testing.T, account string) *commandLineUser {
	t.Helper()
	token, err := on.Kubectl(t.Context(), on.Kubeconfig, "", "create", "token", account, "-n", u.namespace, "--duration", "2h")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(on.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := config.Contexts[config.CurrentContext]
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{account: {Token: strings.TrimSpace(token)}}
	current.AuthInfo, current.Namespace = account, u.namespace
	path := filepath.Join(t.TempDir(), account+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	other := *u
	other.env = append(slices.DeleteFunc(slices.Clone(u.env), func(variable string) bool { return strings.HasPrefix(variable, "KUBECONFIG=") }), "KUBECONFIG="+path)
	return &other
}

// kubectl runs kubectl in the management cluster as the user.
func (u *commandLineUser) kubectl(ctx context.Context, args ...string) (string, error) {
	for _, variable := range u.env {
		if path, found := strings.CutPrefix(variable, "KUBECONFIG="); found {
			return on.Kubectl(ctx, path, "", args...)
		}
	}
	return "", errors.New("the user has no kubeconfig")
}

// forward opens a tunnel until the test ends, and returns the kubeconfig that uses it.
func (u *commandLineUser) forward(t *testing.T, role string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		out, err := u.run(ctx, "", "create", "kubeconfig", u.name, "--role", role, "--expiration", "10m", "--port-forward", "--output-file", path)
		ended <- fmt.Sprintf("%v\n%s", err, out)
	}()
	t.Cleanup(func() {
		stop()
		t.Log(<-ended)
	})
	for {
		select {
		case out := <-ended:
			ended <- out
			t.Fatalf("the forward has ended: %s", out)
		case <-time.After(200 * time.Millisecond):
		}
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
}
