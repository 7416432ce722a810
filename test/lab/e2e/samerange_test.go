//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// TestSameRange runs the clusters of two customers with the same addresses in their VPCs, with a node each. Each is reached
// by its own control plane, and by no program of the other customer.
func TestSameRange(t *testing.T) {
	begin(t)
	var both []*hosted
	pools := map[*hosted]*hyperv1.NodePool{}
	for _, name := range []string{"range-a", "range-b"} {
		h := newHosted(t, name, on.Versions[0])
		h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
		h.create()
		pools[h] = h.nodePool(name, 1)
		h.must(h.management.Create(t.Context(), pools[h]))
		both = append(both, h)
	}
	if a, b := both[0].customer, both[1].customer; a.CIDR != b.CIDR || a.Account == b.Account {
		t.Fatalf("account %s has %s, and %s has %s", a.Account, a.CIDR, b.Account, b.CIDR)
	}
	addresses := map[*hosted][]string{}
	for _, h := range both {
		h.available()
		h.eventually("its machine is a node", func(ctx context.Context) error { return h.poolReady(ctx, pools[h], 1) })
		h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
		addresses[h] = h.serveName(on.Images["busybox"])
		t.Logf("%s: node and pod are at %s", h.hc.Name, addresses[h])
	}
	for i, h := range both {
		for _, address := range addresses[h] {
			if got := h.nameAt(address); got != h.hc.Name {
				t.Errorf("%s reaches %q at its own address %s", h.hc.Name, got, address)
			}
		}
		for _, address := range addresses[both[1-i]] {
			if got := h.nameAt(address); got != "" && got != h.hc.Name {
				t.Errorf("%s reaches %q at %s", h.hc.Name, got, address)
			}
		}
	}
}

// serveName runs two pods that respond with the name of the cluster, and returns their addresses. The first one uses the
// network of its node and port 80, as an ingress controller may, and the other one its own address.
func (h *hosted) serveName(image string) []string {
	h.t.Helper()
	var found []string
	for pod, hostNetwork := range map[string]bool{"node": true, "pod": false} {
		manifest := fmt.Sprintf(named, pod, hostNetwork, image, h.hc.Name)
		if out, err := on.Kubectl(h.t.Context(), h.kubeconfig, manifest, "apply", "-f", "-"); err != nil {
			h.t.Fatalf("creating pod %s: %s: %v", pod, out, err)
		}
		if out, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "wait", "pod/"+pod, "--for=condition=Ready", "--timeout=120s"); err != nil {
			logs, _ := on.Kubectl(h.t.Context(), h.kubeconfig, "", "describe", "pod", pod)
			h.t.Fatalf("waiting for pod %s: %s: %v\n%s", pod, out, err, logs)
		}
		address, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
		h.must(err)
		found = append(found, address)
	}
	return found
}

// nameAt returns the answer that a pod of the cluster gets from port 80 of an address; "" without a connection. The shell of busybox
// would run its own wget, which crashes.
func (h *hosted) nameAt(address string) string {
	h.t.Helper()
	out, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "exec", "pod", "--", "wget", "-q", "-t", "1", "-T", "3", "-O", "-", "http://"+address)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// named is a web server.
const named = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  hostNetwork: %t
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: %s
    command: [sh, -c, "mkdir /web; echo %s >/web/index.html; exec httpd -f -p 80 -h /web"]
    readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 1}
`
