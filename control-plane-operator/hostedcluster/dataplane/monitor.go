package dataplane

import (
	"cmp"
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/metrics"
)

// monitorInterval is how often a monitor checks the connection to nodes. A check is two requests to the hosted API server.
// A reconcile is many more, so that it would take ten minutes to notice that the nodes are gone.
const monitorInterval = 30 * time.Second

// monitorTimeout is how long a check may take.
const monitorTimeout = 20 * time.Second

// A lastResult is the last known state of the connection to the nodes of a hosted cluster.
type lastResult struct {
	mu   sync.Mutex
	last Connection
	at   time.Time
	// noNodes is true if the cluster has no nodes. The monitor may still run, and must not report that it reaches none.
	noNodes bool
	// unread is true for a result of the monitor that no reconcile has reported yet.
	unread bool
}

// record stores the result of a check, and reports whether it differs from the one before.
func (n *lastResult) record(c Connection, now time.Time, by checker) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	differs := func(a, b metav1.Condition) bool { return a.Status != b.Status || a.Reason != b.Reason }
	changed = n.at.IsZero() || differs(c.ToNodes(), n.last.ToNodes()) || differs(c.FromNodes(), n.last.FromNodes())
	n.last, n.at, n.unread = c, now, by == byMonitor && (changed || n.unread)
	return changed
}

// measure records a check in the metrics.
func (n *lastResult) measure(hcp *hyperv1.HostedControlPlane, reachable bool, agents int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.noNodes {
		metrics.Nodes(hcp, reachable, agents)
	}
}

// setNodes records whether the cluster has nodes.
func (n *lastResult) setNodes(hcp *hyperv1.HostedControlPlane, exist bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.noNodes = !exist; n.noNodes {
		metrics.NoNodes(hcp)
	}
}

// checker identifies the checker of the connection.
type checker string

const (
	byReconcile checker = "reconcile"
	byMonitor   checker = "monitor"
)

// recent returns the last result, if it need not be checked: no reconcile has reported it yet, or it is good and not older
// than the interval.
func (n *lastResult) recent(now time.Time, interval time.Duration) (c Connection, recent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	recent = n.unread || !n.at.IsZero() && n.last.ToNodes().Status == metav1.ConditionTrue && !now.After(n.at.Add(interval))
	n.unread = false
	return n.last, recent
}

// EnsureMonitor starts the monitor of the connection unless it runs, or the cluster has no nodes. Its events are the events of a watch.
func (c Checker) EnsureMonitor(hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster) {
	if ptr.Deref(hcp.Status.NodeCount, 0) == 0 {
		return
	}
	// The monitor runs concurrently with reconciles, which change hcp. It needs only the fields that the metrics name.
	hcp = &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: hcp.Namespace, Name: hcp.Name}, Spec: hyperv1.HostedControlPlaneSpec{ClusterID: hcp.Spec.ClusterID}}
	last := connection.Memory[lastResult](cluster)
	cluster.Watch("connection", func(watch.EventType) bool { return true }, func(ctx context.Context) (watch.Interface, error) {
		return c.monitor(ctx, hcp, cluster, last), nil
	})
}

// A connectionMonitor sends an event when the connection to nodes is lost or restored.
type connectionMonitor struct {
	events chan watch.Event
	cancel context.CancelFunc
}

// ResultChan implements watch.Interface.
func (m *connectionMonitor) ResultChan() <-chan watch.Event { return m.events }

// Stop implements watch.Interface.
func (m *connectionMonitor) Stop() { m.cancel() }

// monitor checks the connection until it is stopped.
func (c Checker) monitor(ctx context.Context, hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster, last *lastResult) *connectionMonitor {
	ctx, cancel := context.WithCancel(ctx)
	m := &connectionMonitor{events: make(chan watch.Event), cancel: cancel}
	go func() {
		ticks := time.NewTicker(cmp.Or(c.MonitorInterval, monitorInterval))
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			if changed := c.recheck(ctx, hcp, cluster, last); !changed || ctx.Err() != nil {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case m.events <- watch.Event{Type: watch.Modified}:
			}
		}
	}()
	return m
}

// recheck checks the connection once, and reports whether the result differs from the one before. An API server that does not respond
// is no evidence about nodes.
func (c Checker) recheck(ctx context.Context, hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster, last *lastResult) (changed bool) {
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	result, err := c.check(ctx, hcp, cluster, last)
	return err == nil && last.record(result, c.Clock.Now(), byMonitor)
}
