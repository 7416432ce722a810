package hostedclusterresources

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkConnection reports the connection from the control plane to nodes, which a monitor checks in the background. Without
// a recent result it checks it itself.
func (r *Reconciler) checkConnection(ctx context.Context, s *scope) error {
	if ptr.Deref(s.hcp.Status.NodeCount, 0) == 0 {
		r.reportConnection(s, metav1.Condition{Status: metav1.ConditionUnknown, Reason: hyperv1.NoNodesReason, Message: "the cluster has no nodes"})
		return nil
	}
	c, recent := s.hosted.nodes.recent(r.Clock.Now(), r.Interval)
	if !recent {
		var err error
		if c, err = r.connection(ctx, s.hosted); err != nil {
			return err
		}
		s.hosted.nodes.record(c, r.Clock.Now(), byReconcile)
	}
	if c.Status == metav1.ConditionFalse {
		s.requeueAfter(nodeRetryInterval)
	}
	r.reportConnection(s, c)
	return nil
}

func (r *Reconciler) reportConnection(s *scope, c metav1.Condition) {
	c.Type, c.ObservedGeneration = hyperv1.DataPlaneConnectionAvailable, s.hcp.Generation
	reconcile.SetCondition(&s.hcp.Status.Conditions, c, r.Clock.Now())
}

// nodeRetryInterval is the interval for checking nodes that have not responded.
const nodeRetryInterval = 15 * time.Second

// connection reads a log line of an agent, which the kubelet sends through the tunnels.
func (r *Reconciler) connection(ctx context.Context, hosted *clusterConnection) (metav1.Condition, error) {
	pods := &corev1.PodList{}
	if err := hosted.client.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels(agentLabels)); err != nil {
		return metav1.Condition{}, fmt.Errorf("listing the agents of the tunnels: %w", err)
	}
	ready := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	if len(ready) == 0 {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NoTunnelsReason, Message: "no pod konnectivity-agent is ready"}, nil
	}
	var problem error
	for _, pod := range ready[:min(len(ready), maxCheckedNodes)] {
		if problem = r.ReadLog(ctx, hosted.config, pod.Namespace, pod.Name); problem == nil {
			return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "nodes respond"}, nil
		}
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NodesUnreachableReason, Message: fmt.Sprintf("no node responds: %v", problem)}, nil
}

// maxCheckedNodes is the largest number of nodes to check. A single node may be shutting down.
const maxCheckedNodes = 3

// agentLabels are the labels of the agents' pods.
var agentLabels = map[string]string{"k8s-app": "konnectivity-agent"}

func readLog(ctx context.Context, config *rest.Config, namespace, pod string) error {
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	return core.Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{TailLines: ptr.To[int64](1), LimitBytes: ptr.To[int64](1024)}).Do(ctx).Error()
}
