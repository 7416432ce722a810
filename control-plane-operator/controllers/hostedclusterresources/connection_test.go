package hostedclusterresources

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestConnectionToNodesIsReported(t *testing.T) {
	const reached, reporting = hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable
	w := newTestEnv(t)
	problem, asked := errors.New("dial tcp 10.0.1.7:10250: no agent available"), 0
	w.reconciler.ReadLog = func(context.Context, *rest.Config, string, string) error { asked++; return problem }
	w.reconcileAll()
	w.expectCondition(reached, "Unknown NoNodes: the cluster has no nodes")
	w.expectCondition(reporting, "Unknown NoNodes: the cluster has no nodes")

	w.must(w.hosted.Admin().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}))
	w.reconcileOnce()
	w.expectCondition(reached, "False NoTunnels: no pod konnectivity-agent is ready")
	w.expectCondition(reporting, "True AsExpected: nodes report to the API server")
	node := &corev1.Node{}
	w.must(w.hosted.Admin().Get(t.Context(), client.ObjectKey{Name: nodeName}, node))
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown"}}
	w.must(w.hosted.Admin().Status().Update(t.Context(), node))
	w.reconcileOnce()
	w.expectCondition(reporting, "False NodesSilent: no kubelet has reported to the API server for some time")
	if w.next != nodeRetryInterval {
		t.Errorf("comes back after %s", w.next)
	}

	agent := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "konnectivity-agent-x", Labels: agentLabels}}
	agent.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	w.must(w.hosted.Admin().Create(t.Context(), agent))
	w.reconcileOnce()
	w.expectCondition(reached, "False NodesUnreachable: no node responds: dial tcp 10.0.1.7:10250: no agent available")
	w.expectCondition(reporting, "True AsExpected: nodes report to the API server")

	expectMetric(t, "hypershift_cluster_nodes_reachable", 0)
	expectMetric(t, "hypershift_cluster_tunnel_agents", 1)

	problem = nil
	w.reconcileAll()
	w.expectCondition(reached, "True AsExpected: nodes respond")
	expectMetric(t, "hypershift_cluster_nodes_reachable", 1)
	before := asked
	w.reconcileOnce()
	if asked != before {
		t.Error("asks in each pass")
	}

	problem = errors.New("no agent available")
	w.clock.Step(2 * interval)
	w.reconcileOnce()
	w.expectCondition(reached, "False NodesUnreachable: no node responds: no agent available")
	w.expectCondition(resourcesCondition, succeeded)
}

// absent is the value of a metric that does not exist.
const absent = -1

// expectMetric checks the value of a metric of the only control plane.
func expectMetric(t *testing.T, name string, want float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := float64(absent)
	for _, f := range families {
		if f.GetName() == name {
			got = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	if got != want {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

func TestMonitorSendsAnEventWhenTheConnectionChanges(t *testing.T) {
	w := newTestEnv(t)
	var problem atomic.Pointer[error]
	set := func(err error) { problem.Store(&err) }
	w.reconciler.ReadLog = func(context.Context, *rest.Config, string, string) error { return *problem.Load() }
	agent := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "konnectivity-agent-x", Labels: agentLabels}}
	agent.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	w.must(w.hosted.Admin().Create(t.Context(), agent))
	w.must(w.hosted.Admin().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}))
	set(nil)
	w.reconcileAll()
	w.expectCondition(hyperv1.DataPlaneConnectionAvailable, "True AsExpected: nodes respond")

	var hosted *clusterConnection
	for _, hosted = range w.reconciler.connections {
	}
	m := w.reconciler.monitor(t.Context(), w.hcp(t.Context()), hosted, time.Millisecond)
	defer m.Stop()
	expect := func(want string) {
		t.Helper()
		select {
		case <-m.ResultChan():
		case <-time.After(20 * time.Second):
			t.Fatal("no event")
		}
		w.reconcileOnce()
		w.expectCondition(hyperv1.DataPlaneConnectionAvailable, want)
	}
	set(errors.New("no agent available"))
	expect("False NodesUnreachable: no node responds: no agent available")
	set(nil)
	expect("True AsExpected: nodes respond")
	// A monitor that still runs reports nothing about a cluster without nodes.
	w.must(w.hosted.Admin().Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}))
	w.must(w.hosted.Admin().Delete(t.Context(), agent))
	w.reconcileOnce()
	w.reconciler.check(t.Context(), w.hcp(t.Context()), hosted)
	w.expectCondition(hyperv1.DataPlaneConnectionAvailable, "Unknown NoNodes: the cluster has no nodes")
	expectMetric(t, "hypershift_cluster_nodes_reachable", absent)
	m.Stop()
	set(errors.New("no agent available"))
	select {
	case <-m.ResultChan():
		t.Error("an event after Stop")
	case <-time.After(50 * time.Millisecond):
	}
}
