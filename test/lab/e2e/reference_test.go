//go:build e2e

package e2e

import (
	"context"
	"embed"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

//go:embed testdata/reference
var referenceManifests embed.FS

// TestReferenceManifests applies manifests as HyperShift's command line writes them, without a change but for the release: one
// node pool per zone, and Routes without host names. Then it waits as tools do that know HyperShift, or only Ready.
func TestReferenceManifests(t *testing.T) {
	begin(t)
	for _, name := range []string{"public", "both", "private"} {
		t.Run(name, func(t *testing.T) {
			h := applyReference(t, "ref-"+name, "testdata/reference/"+name+".yaml")
			h.kubectlWait("--for=condition=Ready", "hostedcluster/"+h.hc.Name)
			h.available()
			for condition, status := range map[string]string{
				hyperv1.ClusterVersionAvailable: "True", hyperv1.ClusterVersionSucceeding: "True", hyperv1.ClusterVersionReleaseAccepted: "True",
				hyperv1.ClusterVersionProgressing: "False", hyperv1.EtcdDataEncryptionUpToDate: "True",
			} {
				h.waitForCondition(condition, status)
			}
			pools := &hyperv1.NodePoolList{}
			h.must(h.management.List(t.Context(), pools, client.InNamespace(h.hc.Namespace)))
			for i := range pools.Items {
				pool := &pools.Items[i]
				if pool.Spec.ClusterName != h.hc.Name {
					continue
				}
				h.eventually("the machine of "+pool.Name+" is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
				h.kubectlWait("--for=condition=Ready", "nodepool/"+pool.Name)
			}
			h.waitForCondition(hyperv1.ControlPlaneConnectionAvailable, "True")
			h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
			h.kubectlWait("--for=condition=Ready", "hostedcluster/"+h.hc.Name)
			out, err := on.Kubectl(t.Context(), h.kubeconfig, "", "get", "nodes")
			t.Logf("%s %v", out, err)
		})
	}
}

// applyReference applies the manifests of a file with kubectl, which refuses fields that the API does not have.
func applyReference(t *testing.T, name, file string) *hosted {
	t.Helper()
	customer, err := on.NewCustomer(t.Context(), name, name+"-x7k2p", on.Versions[0])
	if err != nil {
		t.Fatal(err)
	}
	text, err := referenceManifests.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The typed HostedCluster contains the names to wait for. It is not created from: it lacks fields that have their default.
	h := readHosted(t, "", nil)
	h.customer = customer
	h.hc.Namespace, h.hc.Name = "clusters", name
	h.hc.Spec.InfraID = customer.Variables["INFRA_ID"]
	manifests, err := fixture.Substitute(string(text), customer.Variables)
	h.must(err)
	t.Cleanup(func() { h.delete(context.WithoutCancel(t.Context())) })
	out, err := on.Kubectl(t.Context(), on.Kubeconfig, manifests, "apply", "--validate=strict", "-f", "-")
	if err != nil {
		t.Fatalf("kubectl apply: %s: %v", out, err)
	}
	t.Log(out)
	return h
}

// kubectlWait runs kubectl wait in the namespace of the HostedCluster.
func (h *hosted) kubectlWait(args ...string) {
	h.t.Helper()
	out, err := on.Kubectl(h.t.Context(), on.Kubeconfig, "", append([]string{"wait", "-n", h.hc.Namespace, "--timeout=600s"}, args...)...)
	if err != nil {
		state, _ := on.Kubectl(h.t.Context(), on.Kubeconfig, "", "get", "hostedcluster,nodepool", "-n", h.hc.Namespace, "-o", "yaml")
		h.t.Fatalf("kubectl wait %v: %s: %v\n%s", args, out, err, state)
	}
}
