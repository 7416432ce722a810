//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// podNetwork checks the pod network of the release on two nodes, of two pools if they are named. Pods reach each
// other by their addresses, through Services, and by names; image contains a shell.
func (h *hosted) podNetwork(image string, pools ...string) {
	h.t.Helper()
	h.waitForCondition(hyperv1.PodNetworkInstalled, "True", "does not enforce NetworkPolicies")
	kubectl := func(ctx context.Context, stdin string, args ...string) (string, error) {
		out, err := on.Kubectl(ctx, h.kubeconfig, stdin, args...)
		if err != nil {
			err = fmt.Errorf("kubectl %s: %s: %w", strings.Join(args, " "), out, err)
		}
		return out, err
	}
	must := func(stdin string, args ...string) string {
		h.t.Helper()
		out, err := kubectl(h.t.Context(), stdin, args...)
		h.must(err)
		return out
	}
	must("", "rollout", "status", "daemonset/flannel", "-n", "kube-system", "--timeout=60s")
	must(web(image, pools...), "apply", "-f", "-")
	must("", "rollout", "status", "deployment/web", "--timeout=60s")
	type pod struct{ name, address, node string }
	var pods []pod
	for _, line := range strings.Fields(must("", "get", "pods", "-l", "app=web", "--field-selector=status.phase=Running",
		"-o", `jsonpath={range .items[*]}{.metadata.name},{.status.podIP},{.spec.nodeName}{"\n"}{end}`)) {
		fields := strings.Split(line, ",")
		pods = append(pods, pod{fields[0], fields[1], fields[2]})
	}
	if len(pods) != 2 || pods[0].node == pods[1].node {
		h.t.Fatalf("the pods are %v, and not on two nodes", pods)
	}
	began := time.Now()
	for _, from := range pods {
		for _, c := range []struct{ what, url, want string }{
			{"a pod of its node", "http://" + from.address + ":8080", from.name},
			{"a pod of another node", "http://" + pods[0].address + ":8080", pods[0].name},
			{"a pod of another node", "http://" + pods[1].address + ":8080", pods[1].name},
			{"a Service", "http://172.31.77.77", "web-"},
			{"a name", "http://web.default.svc.cluster.local", "web-"},
		} {
			h.eventually(fmt.Sprintf("a pod of node %s reaches %s", from.node, c.what), func(ctx context.Context) error {
				out, err := kubectl(ctx, "", "exec", from.name, "--", "wget", "-q", "-T", "5", "-t", "1", "-O", "-", c.url)
				if err == nil && !strings.HasPrefix(out, c.want) {
					err = errors.New(c.url + " responds " + out)
				}
				return err
			})
		}
	}
	h.t.Logf("pods of nodes %s and %s reached each other after %.1f s", pods[0].node, pods[1].node, time.Since(began).Seconds())
	must("", "delete", "deployment/web", "service/web", "--timeout=60s")
}
