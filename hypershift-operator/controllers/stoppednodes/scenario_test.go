package stoppednodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	machine = "m1"
	tenant  = "somebody"
)

// stopping is a management cluster with one machine, on which pods of a control plane and of somebody else run.
type stopping struct {
	*testenv.Env
	// stay is whether the operator leaves stopped nodes to an administrator.
	stay bool
}

func newStopping(t testing.TB) *stopping {
	e := &stopping{Env: testenv.New(t,
		testenv.WithKinds(&corev1.NodeList{}, &corev1.PodList{}),
		testenv.WithStatus(&corev1.Node{}),
		testenv.WithIndex(&corev1.Pod{}, "spec.nodeName", func(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} }),
		testenv.WithObjects(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testenv.Namespace, Labels: map[string]string{hyperv1.ControlPlaneNamespaceLabel: "true"}}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}},
			node(),
			pod(testenv.Namespace, "etcd-0", machine), pod(testenv.Namespace, "kube-apiserver", machine), pod(testenv.Namespace, "router", "m2"),
			pod(tenant, "database", machine),
		),
	)}
	e.Start = e.start
	return e
}

func node() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine, UID: "of-m1"}}
}

func pod(namespace, name, on string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: testenv.In(namespace, name), Spec: corev1.PodSpec{NodeName: on}}
	p.UID = types.UID("of-" + name)
	return p
}

func (e *stopping) start() testenv.Pass {
	c := New(Options{Leave: !e.stay, Client: e.Client(), Reader: e.Client(), Recorder: e.Events, Clock: e.Clock})
	return testenv.PassOver(e.Env, &corev1.NodeList{}, func(ctx context.Context, n *corev1.Node) (ctrl.Result, error) {
		trimmed, err := Trim(n)
		if err != nil {
			return ctrl.Result{}, err
		}
		return c.ReconcileObject(ctx, trimmed.(*corev1.Node))
	})
}

// kubelet is what the node lifecycle controller says about the heartbeat of the kubelet.
func (e *stopping) kubelet(ready corev1.ConditionStatus) {
	e.T.Helper()
	n := node()
	e.Get(n)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}, {Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}}
	e.UpdateStatus(n)
}

// taint replaces the taints.
func (e *stopping) taint(taints ...corev1.Taint) {
	e.T.Helper()
	testenv.Change(e.Env, node(), func(n *corev1.Node) { n.Spec.Taints = taints })
}

var (
	shutdown    = corev1.Taint{Key: shutdownTaint, Effect: corev1.TaintEffectNoSchedule}
	unreachable = corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
	outOfOrder  = corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: owner, Effect: corev1.TaintEffectNoExecute}
	byHand      = corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}
)

// expect compares the taints of the node and the pods that exist.
func (e *stopping) expect(when string, taints []corev1.Taint, pods ...string) {
	e.T.Helper()
	if got := testenv.Read(e.Env, node()).Spec.Taints; !slices.Equal(got, taints) {
		e.T.Errorf("%s: the taints are %v, want %v", when, got, taints)
	}
	if got := e.pods(); !slices.Equal(got, pods) {
		e.T.Errorf("%s: the pods are %v, want %v", when, got, pods)
	}
}

func (e *stopping) pods() []string {
	var names []string
	for _, p := range testenv.Listed(e.Env, &corev1.PodList{}).Items {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

var (
	all    = []string{"database", "etcd-0", "kube-apiserver", "router"}
	others = []string{"database", "router"}
)

func TestStoppedMachineAndItsReturn(t *testing.T) {
	e := newStopping(t)
	e.kubelet(corev1.ConditionTrue)
	e.Once()
	e.expect("while it runs", nil, all...)

	e.kubelet(corev1.ConditionUnknown)
	e.taint(unreachable)
	e.Once()
	e.expect("it lost its network", []corev1.Taint{unreachable}, all...)

	e.taint(unreachable, shutdown)
	e.Settle()
	e.expect("its instance is stopped", []corev1.Taint{unreachable, shutdown, outOfOrder}, others...)
	if !e.Events.Contains("2 pods of hosted control planes start on other nodes") {
		t.Errorf("events: %v", e.Events.Drain())
	}
	if n := e.Once(); n != 0 {
		t.Errorf("%d writes without a change", n)
	}

	e.kubelet(corev1.ConditionFalse) // the instance runs, and its kubelet is not ready yet
	e.Create(pod(testenv.Namespace, "next", machine))
	e.Once()
	e.expect("it starts", []corev1.Taint{unreachable, shutdown, outOfOrder}, "database", "next", "router")
	e.Delete(pod(testenv.Namespace, "next", machine))

	e.kubelet(corev1.ConditionTrue)
	e.taint(outOfOrder)
	e.Once()
	e.expect("it runs again", nil, others...)
	if !e.Events.Contains("The instance runs again") {
		t.Errorf("events: %v", e.Events.Drain())
	}
}

// Machines without control planes are none of our business, and so are taints of others.
func TestWhatIsNotOursStays(t *testing.T) {
	for name, tc := range map[string]struct {
		pods, left []string
		ready      corev1.ConditionStatus
		taints     []corev1.Taint
	}{
		"no control plane":                {[]string{"etcd-0", "kube-apiserver"}, others, corev1.ConditionUnknown, []corev1.Taint{shutdown}},
		"an administrator was faster":     {nil, others, corev1.ConditionUnknown, []corev1.Taint{shutdown, byHand}},
		"the taint of an administrator":   {nil, all, corev1.ConditionTrue, []corev1.Taint{byHand}},
		"the cloud provider is late":      {nil, all, corev1.ConditionTrue, []corev1.Taint{shutdown}},
		"its kubelet starts":              {nil, all, corev1.ConditionFalse, []corev1.Taint{shutdown}},
		"taints after ours, when it runs": {nil, all, corev1.ConditionTrue, []corev1.Taint{unreachable}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newStopping(t)
			for _, name := range tc.pods {
				e.Delete(pod(testenv.Namespace, name, machine))
			}
			e.kubelet(tc.ready)
			taints := tc.taints
			if name == "taints after ours, when it runs" {
				taints = append([]corev1.Taint{outOfOrder}, tc.taints...)
			}
			e.taint(taints...)
			e.Settle()
			e.expect(name, tc.taints, tc.left...)
		})
	}
}

// A pod of the same name that started meanwhile is another one, which the API server does not delete.
func TestOnlyThePodThatWasFoundIsDeleted(t *testing.T) {
	e := newStopping(t)
	e.kubelet(corev1.ConditionUnknown)
	e.taint(shutdown)
	var deleted []types.UID
	watched := e.ClientWith(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
		o := (&client.DeleteOptions{}).ApplyOptions(opts)
		if o.Preconditions == nil || o.Preconditions.UID == nil || ptr.Deref(o.GracePeriodSeconds, -1) != 0 {
			t.Errorf("%s is deleted with the options %+v", obj.GetName(), o)
		} else {
			deleted = append(deleted, *o.Preconditions.UID)
		}
		return c.Delete(ctx, obj, opts...)
	}})
	c := New(Options{Leave: true, Client: watched, Reader: e.Client(), Recorder: e.Events, Clock: e.Clock})
	_, err := c.ReconcileObject(t.Context(), testenv.Read(e.Env, node()))
	e.Must(err)
	if slices.Sort(deleted); !slices.Equal(deleted, []types.UID{"of-etcd-0", "of-kube-apiserver"}) {
		t.Errorf("deleted: %v", deleted)
	}
}

// The cache has a node as it was before its instance started again.
func TestNodeThatIsReadyAgainKeepsItsPods(t *testing.T) {
	e := newStopping(t)
	e.kubelet(corev1.ConditionUnknown)
	e.taint(shutdown)
	stale := testenv.Read(e.Env, node())
	e.kubelet(corev1.ConditionTrue)
	c := New(Options{Leave: true, Client: e.Client(), Reader: e.Client(), Recorder: e.Events, Clock: e.Clock})
	if result, err := c.ReconcileObject(t.Context(), stale); err == nil && result.IsZero() {
		t.Error("the conflict is not tried again")
	}
	e.expect("it is ready", []corev1.Taint{shutdown}, all...)
}

func TestStoppedNodesAreLeftToAnAdministrator(t *testing.T) {
	e := newStopping(t)
	e.stay = true
	e.kubelet(corev1.ConditionUnknown)
	e.taint(shutdown)
	e.Settle()
	e.expect("it is stopped", []corev1.Taint{shutdown}, all...)
	e.kubelet(corev1.ConditionTrue)
	e.taint(outOfOrder) // of before the setting
	e.Settle()
	e.expect("it runs again", nil, all...)
}

func TestCrashConsistency(t *testing.T) {
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := newStopping(t)
		e.kubelet(corev1.ConditionUnknown)
		e.taint(shutdown)
		return &crashtest.Scenario{
			Cluster: e.Cluster, Start: e.Start, Advance: func(time.Duration) {},
			Ready: func(context.Context) string {
				if got := e.pods(); !slices.Equal(got, others) {
					return fmt.Sprintf("the pods are %v", got)
				}
				return ""
			},
			Delete: func(ctx context.Context) error {
				return errors.Join(e.Admin().Delete(ctx, node()), e.Admin().DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(tenant)),
					e.Admin().DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(testenv.Namespace)))
			},
		}
	})
}

func TestTrimLeavesWhatIsRead(t *testing.T) {
	n := node()
	n.Spec.Taints, n.Spec.PodCIDR = []corev1.Taint{shutdown}, "10.0.0.0/24"
	n.Status.Images = []corev1.ContainerImage{{Names: []string{"large"}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Message: "long"}, {Type: corev1.NodeDiskPressure}}
	trimmed, err := Trim(n)
	if err != nil {
		t.Fatal(err)
	}
	got := trimmed.(*corev1.Node)
	if !isStopped(got) || got.Status.Images != nil || got.Spec.PodCIDR != "" || len(got.Status.Conditions) != 1 || got.UID != n.UID {
		t.Errorf("got %+v", got)
	}
}
