package hostedclusterresources

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/certificaterequests/requesttest"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/dataplane"
)

func TestConnectionToNodesIsReported(t *testing.T) {
	const reached, reporting = hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable
	e := newHostedCluster(t)
	problem, asked := errors.New("dial tcp 10.0.1.7:10250: no agent available"), 0
	e.reconciler.tunnels.ReadLog = func(context.Context, *rest.Config, string, string) error { asked++; return problem }
	e.reconcileAll()
	e.ExpectConditionText(reached, "Unknown NoNodes: the cluster has no nodes")
	e.ExpectConditionText(reporting, "Unknown NoNodes: the cluster has no nodes")

	e.Must(e.hosted.Admin().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: requesttest.NodeName}}))
	e.Once()
	e.ExpectConditionText(reached, "False NoTunnels: no pod konnectivity-agent is ready")
	e.ExpectConditionText(reporting, "True AsExpected: nodes report to the API server")
	node := &corev1.Node{}
	e.Must(e.hosted.Admin().Get(t.Context(), client.ObjectKey{Name: requesttest.NodeName}, node))
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown"}}
	e.hosted.UpdateStatus(node)
	e.Once()
	e.ExpectConditionText(reporting, "False NodesSilent: no kubelet has reported to the API server for some time")
	if e.RequeueAfter != dataplane.RetryInterval {
		t.Errorf("comes back after %s", e.RequeueAfter)
	}

	agent := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "konnectivity-agent-x", Labels: map[string]string{"k8s-app": "konnectivity-agent"}}}
	agent.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	e.Must(e.hosted.Admin().Create(t.Context(), agent))
	e.Once()
	e.ExpectConditionText(reached, "False NodesUnreachable: no node responds: dial tcp 10.0.1.7:10250: no agent available")
	e.ExpectConditionText(reporting, "True AsExpected: nodes report to the API server")

	expectMetric(t, "hypershift_cluster_nodes_reachable", 0)
	expectMetric(t, "hypershift_cluster_tunnel_agents", 1)

	problem = nil
	e.reconcileAll()
	e.ExpectConditionText(reached, "True AsExpected: nodes respond")
	expectMetric(t, "hypershift_cluster_nodes_reachable", 1)
	before := asked
	e.Once()
	if asked != before {
		t.Error("asks in each pass")
	}

	problem = errors.New("no agent available")
	e.Clock.Step(2 * interval)
	e.Once()
	e.ExpectConditionText(reached, "False NodesUnreachable: no node responds: no agent available")
	e.ExpectConditionText(resourcesCondition, succeeded)
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

func TestAChangeOfTheConnectionTriggersAReconcile(t *testing.T) {
	e := newHostedCluster(t)
	var problem atomic.Pointer[error]
	var reads atomic.Int64
	set := func(err error) { problem.Store(&err) }
	e.reconciler.tunnels.MonitorInterval = time.Millisecond
	e.reconciler.tunnels.ReadLog = func(context.Context, *rest.Config, string, string) error {
		reads.Add(1)
		return *problem.Load()
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	e.Must(e.reconciler.connections.Watches().Start(t.Context(), queue))
	agent := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "konnectivity-agent-x", Labels: map[string]string{"k8s-app": "konnectivity-agent"}}}
	agent.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	e.Must(e.hosted.Admin().Create(t.Context(), agent))
	e.Must(e.hosted.Admin().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: requesttest.NodeName}}))
	set(nil)
	e.reconcileAll()
	e.ExpectConditionText(hyperv1.DataPlaneConnectionAvailable, "True AsExpected: nodes respond")

	expect := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; {
			if time.Now().After(deadline) {
				t.Fatalf("no reconcile has reported %s, but %s", want, e.ConditionText(hyperv1.DataPlaneConnectionAvailable))
			}
			if queue.Len() == 0 {
				time.Sleep(time.Millisecond)
				continue
			}
			request, _ := queue.Get()
			queue.Done(request)
			if e.Once(); e.ConditionText(hyperv1.DataPlaneConnectionAvailable) == want {
				return
			}
		}
	}
	set(errors.New("no agent available"))
	expect("False NodesUnreachable: no node responds: no agent available")
	set(nil)
	expect("True AsExpected: nodes respond")
	// The monitor still runs, and makes no report about a cluster without nodes.
	e.hosted.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: requesttest.NodeName}})
	e.Once()
	e.ExpectConditionText(hyperv1.DataPlaneConnectionAvailable, "Unknown NoNodes: the cluster has no nodes")
	for before := reads.Load(); reads.Load() < before+3; {
		time.Sleep(time.Millisecond)
	}
	expectMetric(t, "hypershift_cluster_nodes_reachable", absent)
	e.reconciler.connections.Disconnect(e.hcp().UID)
	for reads.Store(0); ; reads.Store(0) { // until it has stopped
		if time.Sleep(50 * time.Millisecond); reads.Load() == 0 {
			return
		}
	}
}

// Objects in the hosted cluster stay as they are while it sleeps: conditions about them do, too.
func TestASleepingClusterHasNoConnection(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Capabilities = ingressCapability })
	e.Once()
	e.Once()
	e.ExpectConditionText(resourcesCondition, succeeded)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(hyperv1.SleepPhaseAsleep))
	})
	e.Once()
	for _, condition := range []string{hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable, hyperv1.IngressAvailable} {
		e.ExpectConditionText(condition, "Unknown Asleep: the control plane sleeps")
	}
	e.ExpectConditionText(resourcesCondition, succeeded)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Capabilities = nil })
	e.Once()
	if c := meta.FindStatusCondition(e.HCP().Status.Conditions, hyperv1.IngressAvailable); c != nil {
		t.Errorf("without the capability: %+v", c)
	}
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { delete(hcp.Annotations, hyperv1.SleepPhaseAnnotation) })
	e.reconcileAll()
	e.ExpectConditionText(hyperv1.DataPlaneConnectionAvailable, "Unknown NoNodes: the cluster has no nodes")
}
