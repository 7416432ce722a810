package dataplane

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
)

// A Checker checks the connection between the control plane and the nodes.
type Checker struct {
	Clock clock.PassiveClock
	// Interval is how long a good result counts.
	Interval time.Duration
	// MonitorInterval is how often a monitor checks the connection; 0 for the usual time.
	MonitorInterval time.Duration
	// ReadLog reads a line of a pod's log; nil for the usual way.
	ReadLog func(ctx context.Context, config *rest.Config, namespace, pod string) error
}

// A Connection is the result of a check of the connection between the control plane and the nodes.
type Connection struct {
	NoNodes bool
	// Agents is the number of agents of the tunnels that are ready.
	Agents int
	// Problem is why no node responds through the tunnels, or nil if one does.
	Problem error
	// Silent is true if no kubelet has reported to the API server for some time.
	Silent bool
}

// RetryInterval is the interval for checking nodes that have not responded.
const RetryInterval = 15 * time.Second

// ToNodes returns the status, the reason and the message of the condition DataPlaneConnectionAvailable.
func (c Connection) ToNodes() metav1.Condition {
	switch {
	case c.NoNodes:
		return noNodes
	case c.Agents == 0:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NoTunnelsReason, Message: "no pod konnectivity-agent is ready"}
	case c.Problem != nil:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NodesUnreachableReason, Message: fmt.Sprintf("no node responds: %v", c.Problem)}
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "nodes respond"}
}

// FromNodes returns the status, the reason and the message of the condition ControlPlaneConnectionAvailable.
func (c Connection) FromNodes() metav1.Condition {
	switch {
	case c.NoNodes:
		return noNodes
	case c.Silent:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NodesSilentReason, Message: "no kubelet has reported to the API server for some time"}
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "nodes report to the API server"}
}

var noNodes = metav1.Condition{Status: metav1.ConditionUnknown, Reason: hyperv1.NoNodesReason, Message: "the cluster has no nodes"}

// Observe returns the connection, which a monitor checks in the background. Without a recent result it checks it itself.
func (c Checker) Observe(ctx context.Context, hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster) (Connection, error) {
	exist := ptr.Deref(hcp.Status.NodeCount, 0) > 0
	last := connection.Memory[lastResult](cluster)
	last.setNodes(hcp, exist)
	if !exist {
		return Connection{NoNodes: true}, nil
	}
	result, recent := last.recent(c.Clock.Now(), c.Interval)
	if !recent {
		var err error
		if result, err = c.check(ctx, hcp, cluster, last); err != nil {
			return Connection{}, err
		}
		last.record(result, c.Clock.Now(), byReconcile)
	}
	return result, nil
}

// check checks both directions. An agent of the tunnels is ready while it is connected.
func (c Checker) check(ctx context.Context, hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster, last *lastResult) (result Connection, err error) {
	pods := &corev1.PodList{}
	if err := cluster.Client.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels(agentLabels)); err != nil {
		return Connection{}, fmt.Errorf("listing the agents of the tunnels: %w", err)
	}
	ready := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	result.Agents = len(ready)
	defer func() { last.measure(hcp, result.ToNodes().Status == metav1.ConditionTrue, len(ready)) }()
	if len(ready) == 0 {
		result.Silent, err = areSilent(ctx, cluster)
		return result, err
	}
	// A pod is ready only as long as its kubelet reports to the API server.
	result.Problem = c.readLogs(ctx, cluster, ready)
	return result, nil
}

// areSilent reads when kubelets have reported. The kube-controller-manager marks Nodes of kubelets that do not report any more.
func areSilent(ctx context.Context, cluster *connection.Cluster) (bool, error) {
	nodes := &corev1.NodeList{}
	if err := cluster.Client.List(ctx, nodes, client.Limit(maxReadNodes)); err != nil {
		return false, fmt.Errorf("reading which nodes report: %w", err)
	}
	for _, node := range nodes.Items {
		if !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
		}) {
			return false, nil
		}
	}
	return true, nil
}

// maxReadNodes limits the size of a response. Nodes are read only while no agent of the tunnels is ready.
const maxReadNodes = 100

// readLogs reads a log line of an agent, which the kubelet sends through the tunnels. It returns why no node responds.
func (c Checker) readLogs(ctx context.Context, cluster *connection.Cluster, ready []corev1.Pod) (problem error) {
	read := c.ReadLog
	if read == nil {
		read = readLog
	}
	for _, pod := range ready[:min(len(ready), maxCheckedNodes)] {
		if problem = read(ctx, cluster.Config, pod.Namespace, pod.Name); problem == nil {
			return nil
		}
	}
	return problem
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
