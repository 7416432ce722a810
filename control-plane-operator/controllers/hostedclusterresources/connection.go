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
	exist := ptr.Deref(s.hcp.Status.NodeCount, 0) > 0
	s.hosted.nodes.setNodes(s.hcp, exist)
	if !exist {
		none := metav1.Condition{Status: metav1.ConditionUnknown, Reason: hyperv1.NoNodesReason, Message: "the cluster has no nodes"}
		r.reportConnection(s, connection{toNodes: none, fromNodes: none})
		return nil
	}
	c, recent := s.hosted.nodes.recent(r.Clock.Now(), r.Interval)
	if !recent {
		var err error
		if c, err = r.connection(ctx, s.hcp, s.hosted); err != nil {
			return err
		}
		s.hosted.nodes.record(c, r.Clock.Now(), byReconcile)
	}
	if c.toNodes.Status == metav1.ConditionFalse {
		s.requeueAfter(nodeRetryInterval)
	}
	r.reportConnection(s, c)
	return nil
}

// A connection is that between the control plane and the nodes, in both directions.
type connection struct{ toNodes, fromNodes metav1.Condition }

func (r *Reconciler) reportConnection(s *scope, c connection) {
	c.toNodes.Type, c.fromNodes.Type = hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable
	for _, condition := range []metav1.Condition{c.toNodes, c.fromNodes} {
		condition.ObservedGeneration = s.hcp.Generation
		reconcile.SetCondition(&s.hcp.Status.Conditions, condition, r.Clock.Now())
	}
}

// nodeRetryInterval is the interval for checking nodes that have not responded.
const nodeRetryInterval = 15 * time.Second

// connection checks both directions. An agent of the tunnels is ready while it is connected.
func (r *Reconciler) connection(ctx context.Context, hcp *hyperv1.HostedControlPlane, hosted *clusterConnection) (c connection, err error) {
	pods := &corev1.PodList{}
	if err := hosted.client.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels(agentLabels)); err != nil {
		return connection{}, fmt.Errorf("listing the agents of the tunnels: %w", err)
	}
	ready := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	defer func() { hosted.nodes.measure(hcp, c.toNodes.Status == metav1.ConditionTrue, len(ready)) }()
	if len(ready) == 0 {
		from, err := fromNodes(ctx, hosted)
		return connection{metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NoTunnelsReason, Message: "no pod konnectivity-agent is ready"}, from}, err
	}
	// A pod is ready only as long as its kubelet reports to the API server.
	return connection{r.toNodes(ctx, hosted, ready), nodesReport}, nil
}

var nodesReport = metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "nodes report to the API server"}

// fromNodes reads when kubelets have reported. The kube-controller-manager marks Nodes of kubelets that do not report any more.
func fromNodes(ctx context.Context, hosted *clusterConnection) (metav1.Condition, error) {
	nodes := &corev1.NodeList{}
	if err := hosted.client.List(ctx, nodes, client.Limit(maxReadNodes)); err != nil {
		return metav1.Condition{}, fmt.Errorf("reading which nodes report: %w", err)
	}
	for _, node := range nodes.Items {
		if !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
		}) {
			return nodesReport, nil
		}
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NodesSilentReason, Message: "no kubelet has reported to the API server for some time"}, nil
}

// maxReadNodes limits the size of a response. Nodes are read only while no agent of the tunnels is ready.
const maxReadNodes = 100

// toNodes reads a log line of an agent, which the kubelet sends through the tunnels.
func (r *Reconciler) toNodes(ctx context.Context, hosted *clusterConnection, ready []corev1.Pod) metav1.Condition {
	var problem error
	for _, pod := range ready[:min(len(ready), maxCheckedNodes)] {
		if problem = r.ReadLog(ctx, hosted.config, pod.Namespace, pod.Name); problem == nil {
			return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "nodes respond"}
		}
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NodesUnreachableReason, Message: fmt.Sprintf("no node responds: %v", problem)}
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
