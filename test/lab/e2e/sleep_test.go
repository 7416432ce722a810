//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// TestSleep lets a cluster with a node and a pod sleep and wake, first with its machine and then without, and deletes it asleep.
func TestSleep(t *testing.T) {
	begin(t)
	h := newHosted(t, "sleep", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	h.create()
	pool := h.poolPerZone(1)[0]
	h.available()
	h.eventually("the machine is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	image := on.Images["busybox"]
	runAll(t, h.kubeconfig, []command{
		{name: "create a Deployment", args: "apply -f -", stdin: web(image), want: `(?s)deployment.apps/web created.*service/web created`},
		{name: "its pods run", args: "get pods -l app=web", want: `web-\S+ +1/1 +Running`, again: true},
		{name: "create an object", args: "create configmap before --from-literal=color=blue", want: `configmap/before created`},
	})
	kubeconfig, err := os.ReadFile(h.kubeconfig)
	h.must(err)
	machines := h.machineNames()

	h.sleep(hyperv1.SleepKeep, "machines: "+pool.Name)
	if now := h.machineNames(); now != machines {
		t.Errorf("instances %s, and were %s", now, machines)
	}
	h.answeredFor(hyperv1.PublishingOf(h.hc.Spec.Services, hyperv1.APIServer).Type == hyperv1.Route)
	h.wake("with its machine")
	if now := h.machineNames(); now != machines {
		t.Errorf("instances %s after the sleep, and were %s", now, machines)
	}
	h.eventually("the machine is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	path, err := on.AdminKubeconfig(t.Context(), key(h.hc))
	h.must(err)
	after, err := os.ReadFile(path)
	h.must(err)
	if string(after) != string(kubeconfig) {
		t.Error("users have another kubeconfig")
	}
	h.awake()

	h.sleep(hyperv1.SleepDelete, "etcd")
	if now := h.machineNames(); now != "" {
		t.Errorf("instances %s run while the cluster sleeps", now)
	}
	h.wake("without machines")
	h.eventually("another machine is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	h.awake()

	h.sleep(hyperv1.SleepKeep, "etcd")
	// The end of the test deletes it, and nothing may be left.
}

// sleep lets the cluster sleep, and checks which pods are left and what it costs.
func (h *hosted) sleep(machines, costs string) {
	h.t.Helper()
	began := time.Now()
	h.change(func(hc *hyperv1.HostedCluster) {
		if hc.Annotations == nil {
			hc.Annotations = map[string]string{}
		}
		hc.Annotations[hyperv1.SleepAnnotation], hc.Annotations[hyperv1.SleepMachinesAnnotation] = "true", machines
	})
	h.waitForCondition(hyperv1.HostedClusterAsleep, "True", "what still costs: ", "etcd", costs)
	h.t.Logf("%.1f s until it sleeps: %s", time.Since(began).Seconds(), conditionMessage(h.hc, hyperv1.HostedClusterAsleep))
	h.waitForCondition(hyperv1.HostedClusterAvailable, "False", "the cluster sleeps")
	pods, err := h.pods(h.t.Context())
	h.must(err)
	for _, pod := range pods {
		switch app := pod.Labels["app"]; {
		case app == names.ControlPlaneOperator, pod.DeletionTimestamp != nil && strings.Contains(app, "api"): // Cluster API ends
		case app == "private-router" && hyperv1.PublishingOf(h.hc.Spec.Services, hyperv1.APIServer).Type == hyperv1.Route: // it answers
		default:
			h.t.Errorf("pod %s runs while the cluster sleeps", pod.Name)
		}
	}
	claims := &corev1.PersistentVolumeClaimList{}
	h.must(h.management.List(h.t.Context(), claims, client.InNamespace(h.namespace())))
	if len(claims.Items) != 1 {
		h.t.Errorf("%d volume claims of etcd", len(claims.Items))
	}
}

func conditionMessage(hc *hyperv1.HostedCluster, condition string) string {
	for _, c := range hc.Status.Conditions {
		if c.Type == condition {
			return c.Message
		}
	}
	return ""
}

// answeredFor checks the answer that a user gets.
func (h *hosted) answeredFor(router bool) {
	h.t.Helper()
	h.eventually("kubectl is refused", func(ctx context.Context) error {
		out, err := on.Kubectl(ctx, h.kubeconfig, "", "get", "namespaces")
		if err == nil {
			return errors.New("it is answered: " + out)
		}
		if router && !strings.Contains(out, "the cluster is asleep: set annotation "+hyperv1.SleepAnnotation) {
			return errors.New(out)
		}
		return nil
	})
}

// wake wakes the cluster and measures the time until its user gets an answer.
func (h *hosted) wake(how string) {
	h.t.Helper()
	began := time.Now()
	h.change(func(hc *hyperv1.HostedCluster) { hc.Annotations[hyperv1.SleepAnnotation] = "false" })
	h.eventually("/readyz answers", func(ctx context.Context) error {
		out, err := on.Kubectl(ctx, h.kubeconfig, "", "get", "--raw", "/readyz")
		if err != nil || strings.TrimSpace(out) != "ok" {
			return fmt.Errorf("%s: %w", out, errors.Join(err, errors.New("not ok")))
		}
		return nil
	})
	h.t.Logf("%.1f s from the annotation to /readyz, %s", time.Since(began).Seconds(), how)
	h.waitForCondition(hyperv1.HostedClusterAvailable, "True")
	h.waitForCondition(hyperv1.HostedClusterAsleep, "False", "the cluster is awake")
}

// awake checks that the data is there and that pods run and can be reached.
func (h *hosted) awake() {
	h.t.Helper()
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	runAll(h.t, h.kubeconfig, []command{
		{name: "the object is there", args: "get configmap before -o jsonpath={.data.color}", want: `^blue$`},
		{name: "the node is ready", args: "get nodes", want: `\.ec2\.internal +Ready `, again: true},
		{name: "the pods run", args: "get pods -l app=web", want: `web-\S+ +1/1 +Running`, again: true},
		{name: "exec runs a command in a pod", args: "exec deployment/web -- hostname", want: `^web-`, again: true},
	})
}

// machineNames returns the names of the cluster's Machines that are not being deleted.
func (h *hosted) machineNames() string {
	h.t.Helper()
	machines := &clusterv1.MachineList{}
	h.must(h.management.List(h.t.Context(), machines, client.InNamespace(h.namespace())))
	var names []string
	for _, m := range machines.Items {
		if m.DeletionTimestamp.IsZero() {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, " ")
}
