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

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestConnectionToNodesIsReported(t *testing.T) {
	const reached = hyperv1.DataPlaneConnectionAvailable
	w := newTestEnv(t)
	problem, asked := errors.New("dial tcp 10.0.1.7:10250: no agent available"), 0
	w.reconciler.ReadLog = func(context.Context, *rest.Config, string, string) error { asked++; return problem }
	w.reconcileAll()
	w.expectCondition(reached, "Unknown NoNodes: the cluster has no nodes")

	w.must(w.hosted.Admin().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}))
	w.reconcileOnce()
	w.expectCondition(reached, "False NoTunnels: no pod konnectivity-agent is ready")
	if w.next != nodeRetryInterval {
		t.Errorf("comes back after %s", w.next)
	}

	agent := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "konnectivity-agent-x", Labels: agentLabels}}
	agent.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	w.must(w.hosted.Admin().Create(t.Context(), agent))
	w.reconcileOnce()
	w.expectCondition(reached, "False NodesUnreachable: no node responds: dial tcp 10.0.1.7:10250: no agent available")

	problem = nil
	w.reconcileAll()
	w.expectCondition(reached, "True AsExpected: nodes respond")
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
	m := w.reconciler.monitor(t.Context(), hosted, time.Millisecond)
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
	m.Stop()
	set(errors.New("no agent available"))
	select {
	case <-m.ResultChan():
		t.Error("an event after Stop")
	case <-time.After(50 * time.Millisecond):
	}
}
