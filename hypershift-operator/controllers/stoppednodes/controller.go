package stoppednodes

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// shutdownTaint is the taint of a node whose instance is stopped:
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/cloud-provider/api/well_known_taints.go
	shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown"
	// owner is the value of our out-of-service taint.
	owner = "hypershift"
)

// Options configure a Reconciler.
type Options struct {
	// Leave takes nodes out of service. Without it, nodes only return to service, so that none stays out of it when Leave is disabled.
	Leave bool
	// Client reads from the cache: nodes, and the namespaces of control planes only.
	Client client.Client
	// Reader reads past the cache, which has no pods.
	Reader   client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// Reconciler takes stopped nodes out of service.
type Reconciler struct{ Options }

// Controller reconciles nodes.
type Controller = reconcile.Controller[*corev1.Node, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{opts}
	stopped := []reconcile.Step[*scope]{
		{Name: "pods of control planes", Run: r.findPods},
		{Name: "out-of-service taint", Run: r.addTaint},
		{Name: "deletion of the pods", Run: r.deletePods},
	}
	back := []reconcile.Step[*scope]{{Name: "removal of the out-of-service taint", Run: r.removeTaint}}
	return &Controller{
		Name: "stoppednodes", Client: opts.Client, Clock: opts.Clock,
		Scope: func(_ context.Context, node *corev1.Node, _ *reconcile.Writer[*corev1.Node]) (*scope, error) {
			if !concerned(node) {
				return nil, reconcile.Skip(0)
			}
			return &scope{node: node}, nil
		},
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case isStopped(s.node) && opts.Leave:
				return stopped
			case isReady(s.node):
				return back
			}
			return nil // its instance starts, and its kubelet mounts volumes before the node is ready
		},
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	return c.Builder(mgr).For(&corev1.Node{}, builder.WithPredicates(predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return concerned(e.Object.(*corev1.Node)) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
			return concerned(is) && (readiness(was) != readiness(is) || !slices.Equal(taintKeys(was), taintKeys(is)))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	})).Complete(c)
}

// scope holds the facts of one reconcile.
type scope struct {
	node *corev1.Node
	// pods are those of control planes on the node. Set by findPods.
	pods []corev1.Pod
}

// concerned reports whether the node is stopped, or has our taint.
func concerned(node *corev1.Node) bool { return isStopped(node) || ours(node) >= 0 }

// isStopped reports whether the cloud provider says that the instance is stopped, and no kubelet has reported for as long as Kubernetes waits.
// The cloud provider removes its taint only when the node is ready. A kubelet that starts reports False until then.
func isStopped(node *corev1.Node) bool {
	return has(node, shutdownTaint) && readiness(node) == corev1.ConditionUnknown
}

func isReady(node *corev1.Node) bool { return readiness(node) == corev1.ConditionTrue }

// readiness is the status of condition Ready, empty before the first report.
func readiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

func has(node *corev1.Node, key string) bool { return slices.Contains(taintKeys(node), key) }

func taintKeys(node *corev1.Node) []string {
	var keys []string
	for _, t := range node.Spec.Taints {
		keys = append(keys, t.Key)
	}
	return keys
}

// ours is the index of our taint, -1 if there is none.
func ours(node *corev1.Node) int {
	return slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeOutOfService && t.Value == owner
	})
}

// findPods lists the pods of control planes on the node.
func (r *Reconciler) findPods(ctx context.Context, s *scope) error {
	var namespaces corev1.NamespaceList
	if err := r.Client.List(ctx, &namespaces, client.HasLabels{hyperv1.ControlPlaneNamespaceLabel}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the namespaces of control planes: %w", err)
	}
	planes := map[string]bool{}
	for i := range namespaces.Items {
		planes[namespaces.Items[i].Name] = true
	}
	var all corev1.PodList
	if err := r.Reader.List(ctx, &all, client.MatchingFields{"spec.nodeName": s.node.Name}); err != nil {
		return fmt.Errorf("listing the pods on node %s: %w", s.node.Name, err)
	}
	s.pods = slices.DeleteFunc(all.Items, func(p corev1.Pod) bool { return !planes[p.Namespace] })
	return nil
}

// addTaint takes the node out of service if there are pods of control planes on it.
func (r *Reconciler) addTaint(ctx context.Context, s *scope) error {
	if len(s.pods) == 0 || has(s.node, corev1.TaintNodeOutOfService) {
		return nil
	}
	taint := corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: owner, Effect: corev1.TaintEffectNoExecute}
	if err := r.setTaints(ctx, s.node, append(slices.Clone(s.node.Spec.Taints), taint)); err != nil {
		return fmt.Errorf("taking node %s out of service: %w", s.node.Name, err)
	}
	r.Recorder.Eventf(s.node, nil, corev1.EventTypeWarning, "OutOfService", "TakeOutOfService",
		"The instance is stopped: %d pods of hosted control planes start on other nodes, and their volumes are detached", len(s.pods))
	return nil
}

// deletePods deletes the objects of pods that have ended with their machine. Kubernetes would delete them within 20 seconds.
func (r *Reconciler) deletePods(ctx context.Context, s *scope) error {
	for i := range s.pods {
		pod := &s.pods[i]
		err := r.Client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: ptr.To(pod.UID)})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting pod %s/%s of the stopped node %s: %w", pod.Namespace, pod.Name, s.node.Name, err)
		}
	}
	return nil
}

// removeTaint returns the node to service.
func (r *Reconciler) removeTaint(ctx context.Context, s *scope) error {
	i := ours(s.node)
	if i < 0 {
		return nil
	}
	if err := r.setTaints(ctx, s.node, slices.Delete(slices.Clone(s.node.Spec.Taints), i, i+1)); err != nil {
		return fmt.Errorf("returning node %s to service: %w", s.node.Name, err)
	}
	r.Recorder.Eventf(s.node, nil, corev1.EventTypeNormal, "InService", "ReturnToService", "The instance runs again")
	return nil
}

// setTaints replaces the taints, which are one field. A change of another client meanwhile is a conflict.
func (r *Reconciler) setTaints(ctx context.Context, node *corev1.Node, taints []corev1.Taint) error {
	patch := mergepatch.Spec(map[string]any{"taints": taints})
	patch["metadata"] = map[string]any{"uid": node.UID, "resourceVersion": node.ResourceVersion}
	return r.Client.Patch(ctx, node, patch)
}

// Trim leaves only the fields of a node that this package reads. Nodes are large, and their status changes often.
func Trim(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	trimmed := &corev1.Node{
		TypeMeta:   node.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion},
		Spec:       corev1.NodeSpec{Taints: node.Spec.Taints},
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			trimmed.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return trimmed, nil
}
