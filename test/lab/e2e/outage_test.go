//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/load"
)

// TestOutages kills every part of a highly available control plane once, without a graceful shutdown, during requests.
func TestOutages(t *testing.T) {
	begin(t)
	h := newHosted(t, "outage", on.Versions[0])
	h.hc.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	h.create()
	h.available()
	h.eventually("all pods are ready", h.rolledOut)
	h.spread()

	asked := h.load()
	pods, err := h.pods(t.Context())
	h.must(err)
	var total load.Count
	tell := func(what string) {
		count := asked.Count()
		total.Asked, total.Failed = total.Asked+count.Asked, total.Failed+count.Failed
		t.Logf("%-55s %v", what, count)
	}
	h.eventually("requests are counted", func(context.Context) error {
		if n := asked.Asked(); n < 100 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	tell("nothing happens")
	for _, pod := range pods {
		h.must(h.management.Delete(t.Context(), &pod, &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
		h.eventually(pod.Name+" has a successor", func(ctx context.Context) error { return h.replaced(ctx, pod, pods) })
		tell("killed pod " + pod.Name)
	}

	machine := "m2"
	h.must(on.KillMachine(t.Context(), machine))
	t.Cleanup(func() { h.must(on.StartMachine(context.WithoutCancel(t.Context()), machine)) }) // also for other scenarios
	h.eventually("the node is not ready", func(ctx context.Context) error {
		node := &corev1.Node{}
		if err := h.management.Get(ctx, client.ObjectKey{Name: machine}, node); err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%s is still ready", machine)
	})
	tell("killed machine " + machine + ", until its node is not ready")
	died := time.Now()
	h.eventually("its pods run on other machines", func(ctx context.Context) error { return h.moved(ctx, machine, pods) })
	tell(fmt.Sprintf("%.0f s later what ran there runs elsewhere", time.Since(died).Seconds()))
	h.must(on.StartMachine(t.Context(), machine))
	h.must(on.WaitForNode(t.Context(), machine))
	h.eventually("all pods are ready", h.rolledOut)
	tell("machine " + machine + " is back")
	t.Logf("total: %v", total)
	h.waitForCondition(hyperv1.HostedClusterAvailable, "True")
}

// TestStoppedMachine stops the instance of the machine with etcd of a cluster with one replica. The control plane starts on other machines while
// it is off, and the node is in service again when it is back.
func TestStoppedMachine(t *testing.T) {
	begin(t)
	h := newHosted(t, "stopped", on.Versions[0])
	h.create()
	h.available()
	h.eventually("all pods are ready", h.rolledOut)
	h.kubectl("create configmap saved --from-literal=color=blue")
	etcd := &corev1.Pod{}
	h.must(h.management.Get(t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: "etcd-0"}, etcd))
	machine := etcd.Spec.NodeName
	taints := func() (keys []string) {
		node := &corev1.Node{}
		h.must(h.management.Get(t.Context(), client.ObjectKey{Name: machine}, node))
		for _, taint := range node.Spec.Taints {
			keys = append(keys, taint.Key)
		}
		return keys
	}

	outage := h.watchOutage(t)
	h.must(on.ForceStopMachine(t.Context(), machine))
	t.Cleanup(func() { h.must(on.StartMachine(context.WithoutCancel(t.Context()), machine)) }) // also for other scenarios
	h.eventually("etcd runs on another machine", func(ctx context.Context) error {
		if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: "etcd-0"}, etcd); err != nil {
			return err
		}
		if etcd.Spec.NodeName == machine || !podReady(etcd) {
			return fmt.Errorf("it is on %s, ready: %t", etcd.Spec.NodeName, podReady(etcd))
		}
		return nil
	})
	h.eventually("the API answers", func(ctx context.Context) error {
		_, err := on.Kubectl(ctx, h.kubeconfig, "", "get", "configmap", "saved")
		return err
	})
	t.Logf("machine %s is stopped: the API did not answer for %.0f s; its node has the taints %v", machine, outage().Seconds(), taints())
	if !slices.Contains(taints(), corev1.TaintNodeOutOfService) {
		t.Errorf("the node of the stopped machine has the taints %v", taints())
	}
	h.eventually("all pods are ready", h.rolledOut)

	h.must(on.StartMachine(t.Context(), machine))
	h.must(on.WaitForNode(t.Context(), machine))
	h.eventually("the node is in service", func(context.Context) error {
		if left := taints(); len(left) > 0 {
			return fmt.Errorf("its taints are %v", left)
		}
		return nil
	})
	h.waitForCondition(hyperv1.HostedClusterAvailable, "True")
}

// podReady returns whether the pod is ready, and is not being deleted.
func podReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp.IsZero() && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// spread fails the test unless the members of etcd and the API servers are in different zones.
func (h *hosted) spread() {
	h.t.Helper()
	pods, err := h.pods(h.t.Context())
	h.must(err)
	for _, app := range []string{"etcd", "kube-apiserver"} {
		var nodes []string
		for _, p := range pods {
			if p.Labels["app"] == app {
				nodes = append(nodes, p.Spec.NodeName)
			}
		}
		slices.Sort(nodes)
		if len(nodes) != 3 || len(slices.Compact(nodes)) != 3 {
			h.t.Errorf("%s runs on %v", app, nodes)
		}
	}
}

// replaced returns an error until the pod is gone and as many pods of its kind are ready as before. The status of the
// workload cannot be used, because it is stale for a moment.
func (h *hosted) replaced(ctx context.Context, pod corev1.Pod, before []corev1.Pod) error {
	now, err := h.pods(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(now, func(p corev1.Pod) bool { return p.UID == pod.UID }) {
		return errors.New("the pod still exists")
	}
	kind := pod.Labels["app"]
	if got, want := ready(now, kind), ready(before, kind); got != want {
		return fmt.Errorf("of %d pods of %s, %d are ready", want, kind, got)
	}
	return nil
}

// moved returns an error until as many pods of each kind are ready on other machines as before. A member of etcd waits for
// its volume.
func (h *hosted) moved(ctx context.Context, from string, before []corev1.Pod) error {
	now, err := h.pods(ctx)
	if err != nil {
		return err
	}
	elsewhere := slices.DeleteFunc(now, func(p corev1.Pod) bool { return p.Spec.NodeName == from })
	for _, pod := range before {
		kind := pod.Labels["app"]
		if got, want := ready(elsewhere, kind), ready(before, kind); kind != names.Etcd && got != want {
			return fmt.Errorf("of %d pods of %s, %d are ready on other machines", want, kind, got)
		}
	}
	return nil
}

// ready returns the number of ready pods of a kind.
func ready(pods []corev1.Pod, kind string) int {
	n := 0
	for i := range pods {
		if pods[i].Labels["app"] == kind && podReady(&pods[i]) {
			n++
		}
	}
	return n
}

// watchOutage measures the longest time in which no request was answered, until the result is read. After a failure, the user gets the kubeconfig
// again, which a rotation replaces.
func (h *hosted) watchOutage(t *testing.T) (longest func() time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	cluster := client.ObjectKeyFromObject(h.hc)
	connect := func() (client.Client, error) {
		path, err := h.on.AdminKubeconfig(ctx, cluster)
		if err != nil {
			return nil, err
		}
		cfg, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return nil, err
		}
		// A connection of HTTP/2 is used again after a request had no answer, although it leads to a pod that is gone.
		cfg.Timeout, cfg.NextProtos = time.Second, []string{"http/1.1"}
		return client.New(cfg, client.Options{})
	}
	user, err := connect()
	h.must(err)
	result := make(chan time.Duration, 1)
	go func() {
		last, worst := time.Now(), time.Duration(0)
		for ctx.Err() == nil {
			if err := user.Get(ctx, client.ObjectKey{Name: "default"}, &corev1.Namespace{}); err == nil {
				worst, last = max(worst, time.Since(last)), time.Now()
			} else if again, err := connect(); err == nil {
				user = again
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
		result <- max(worst, time.Since(last))
	}()
	return func() time.Duration { stop(); return <-result }
}
