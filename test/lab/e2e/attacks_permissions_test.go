//go:build e2e

package e2e

import (
	"fmt"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// attackSecrets reads Secrets outside of the control plane, and changes the control plane's Secrets, with the
// permissions of the Cluster API controllers. Their images come from the release. They may read the Secrets of their
// namespace (decision 0044).
func (h *hosted) attackSecrets() {
	for _, what := range [][]string{
		{"list", "secrets", "-n", h.hc.Namespace}, {"list", "secrets", "-n", hosting.Namespace}, {"list", "secrets", "-n", "kube-system"},
		{"create", "secrets", "-n", h.namespace()}, {"patch", "secrets", "-n", h.namespace()}, {"delete", "secrets", "-n", h.namespace()},
		{"create", "pods", "-n", h.namespace()}, {"create", "serviceaccounts/token", "-n", h.namespace()},
	} {
		out, err := on.Kubectl(h.t.Context(), on.Kubeconfig, "", append(append([]string{"auth", "can-i"}, what...), "--as="+h.asAccount(names.ClusterAPI))...)
		if err == nil || !strings.HasPrefix(strings.TrimSpace(out), "no") {
			h.t.Errorf("%s may %v: %s", names.ClusterAPI, what, strings.TrimSpace(out))
		}
	}
}

// attackNamespace tries writes with the permissions of the control-plane-operator that the operator does not need.
func (h *hosted) attackNamespace() {
	for what, manifest := range map[string]string{
		"a Service that captures an address":     service("captures", "ClusterIP", "externalIPs: [10.57.0.10]"),
		"a host name of another tenant":          strings.Replace(service("squats", "ClusterIP", ""), "metadata:", "metadata:\n  annotations: {external-dns.alpha.kubernetes.io/hostname: api.victim.example.test}", 1),
		"a network policy that opens everything": "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: open, namespace: NS}, spec: {podSelector: {}, policyTypes: [Egress], egress: [{}]}}",
		"a label of its namespace":               "{apiVersion: v1, kind: Namespace, metadata: {name: NS, labels: {pod-security.kubernetes.io/enforce: privileged}}}",
	} {
		manifest = strings.ReplaceAll(manifest, "NS", h.namespace())
		out, err := on.Kubectl(h.t.Context(), on.Kubeconfig, manifest, "apply", "--server-side", "--dry-run=server", "-f", "-", "--as="+h.asAccount(names.ControlPlaneOperator))
		if err == nil {
			h.t.Errorf("the control-plane-operator may write %s: %s", what, strings.TrimSpace(out))
		} else {
			h.t.Logf("refused: %.200s", lastLine(out))
		}
	}
	for _, policy := range []string{"management-kas", "same-namespace", names.Etcd} {
		out, err := on.Kubectl(h.t.Context(), on.Kubeconfig, "", "delete", "networkpolicy", policy, "-n", h.namespace(), "--dry-run=server", "--as="+h.asAccount(names.ControlPlaneOperator))
		if err == nil {
			h.t.Errorf("the control-plane-operator may delete NetworkPolicy %s: %s", policy, strings.TrimSpace(out))
		}
	}
	if allowed := h.loadBalancers(30); allowed == 30 {
		h.t.Error("the control-plane-operator may create 30 load balancers")
	}
}

// loadBalancers creates that many load balancers as the control-plane-operator, and returns how many were accepted. It
// deletes them again.
func (h *hosted) loadBalancers(count int) (accepted int) {
	defer func() {
		_, err := on.Kubectl(h.t.Context(), on.Kubeconfig, "", "delete", "service", "-n", h.namespace(), "-l", "attack=many", "--wait=false")
		h.must(err)
	}()
	for i := range count {
		manifest := strings.ReplaceAll(service(fmt.Sprintf("many-%d", i), "LoadBalancer", "loadBalancerClass: example.test/none"), "NS", h.namespace())
		manifest = strings.Replace(manifest, "metadata:", "metadata:\n  labels: {attack: many}", 1)
		if _, err := on.Kubectl(h.t.Context(), on.Kubeconfig, manifest, "create", "-f", "-", "--as="+h.asAccount(names.ControlPlaneOperator)); err != nil {
			return accepted
		}
		accepted++
	}
	return accepted
}

func service(name, kind, more string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: NS\nspec:\n  type: %s\n  selector: {app: none}\n  ports: [{port: 80}]\n  %s\n", name, kind, more)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
