// Package clusterprogress summarizes the waits of a hosted cluster's creation or deletion.
package clusterprogress

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Entry is a line of the tree.
type Entry struct {
	// Depth is 0 for an object and 1 for one of its conditions.
	Depth int
	// Name is unique in the tree.
	Name, Label string
	Done        bool
	// Text is the state, or the wait.
	Text string
}

// Progress is a tree of objects and conditions.
type Progress struct {
	Entries []Entry
	Done    bool
	// Stalled is why waiting does not help; empty if it does.
	Stalled string
}

// Waiting returns the unfinished entries, in one line. A cause that several objects report is in it once.
func (p Progress) Waiting() string {
	var parts []string
	for _, e := range p.Entries {
		if !e.Done && !strings.Contains(strings.Join(parts, "; "), e.Text) {
			parts = append(parts, e.Label+": "+e.Text)
		}
	}
	return strings.Join(parts, "; ")
}

// stages are conditions of a HostedCluster in the order in which they become True. Available is the condition of the HostedCluster itself.
var stages = []string{
	hyperv1.ValidHostedClusterConfiguration, hyperv1.ValidReleaseImage, hyperv1.InfrastructureReady, hyperv1.EtcdAvailable,
	hyperv1.KubeAPIServerAvailable,
}

// privateStages are the stages of a cluster with nodes that use PrivateLink.
var privateStages = []string{hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable}

// Creation returns how far a cluster is from being available with all nodes. hc is nil while it is not found.
func Creation(hc *hyperv1.HostedCluster, pools []hyperv1.NodePool) Progress {
	p := Progress{Done: true}
	add := func(e Entry) {
		p.Entries = append(p.Entries, e)
		p.Done = p.Done && e.Done
	}
	cluster := Entry{Name: "hostedcluster", Label: "HostedCluster", Text: "does not exist"}
	if hc == nil {
		add(cluster)
		return p
	}
	cluster.Label += " " + hc.Name
	available := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterAvailable)
	if cluster.Done, cluster.Text = state(available); cluster.Done {
		cluster.Text = "available"
	}
	add(cluster)
	wanted := stages
	if hc.Spec.Platform.PrivateLink() {
		wanted = append(wanted[:len(wanted):len(wanted)], privateStages...)
	}
	if len(pools) > 0 {
		wanted = append(wanted[:len(wanted):len(wanted)], hyperv1.DataPlaneConnectionAvailable)
	}
	for _, name := range wanted {
		done, text := state(meta.FindStatusCondition(hc.Status.Conditions, name))
		add(Entry{Depth: 1, Name: "hostedcluster/" + name, Label: name, Done: done, Text: text})
	}
	// Stalled is no stage: it is only there while waiting does not help.
	if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterStalled); c != nil && c.Status == metav1.ConditionTrue {
		add(Entry{Depth: 1, Name: "hostedcluster/" + c.Type, Label: c.Type, Text: c.Message})
		if c.ObservedGeneration >= hc.Generation {
			p.Stalled = c.Message
		}
	}
	for i := range pools {
		add(Pool(&pools[i]))
		p.Stalled = cmp.Or(p.Stalled, PoolStalled(&pools[i]))
	}
	return p
}

// PoolStalled returns why waiting for a NodePool does not help; empty if it does.
func PoolStalled(np *hyperv1.NodePool) string {
	if c := Condition(np, hyperv1.NodePoolStalledCondition); c != nil && c.Status == corev1.ConditionTrue && c.ObservedGeneration >= np.Generation {
		return "NodePool " + np.Name + ": " + c.Message
	}
	return ""
}

// Pool returns how far a NodePool is from having all its nodes.
func Pool(np *hyperv1.NodePool) Entry {
	e := Entry{Name: "nodepool/" + np.Name, Label: "NodePool " + np.Name}
	ready := Condition(np, hyperv1.NodePoolReadyCondition)
	e.Done = ready != nil && ready.Status == corev1.ConditionTrue
	e.Text = fmt.Sprintf("%d nodes", np.Status.Replicas)
	if want := np.Spec.Replicas; want != nil {
		// The number of a moment ago does not count after the spec has changed.
		e.Done = e.Done && np.Status.Replicas >= *want && ready.ObservedGeneration >= np.Generation
		e.Text = fmt.Sprintf("%d of %d nodes", np.Status.Replicas, *want)
	}
	if !e.Done && ready != nil && ready.Message != "" {
		e.Text = ready.Message // it begins with the number of nodes, or with an earlier stage
	}
	return e
}

// Condition returns a condition of a NodePool, or nil.
func Condition(np *hyperv1.NodePool, name string) *hyperv1.NodePoolCondition {
	for i := range np.Status.Conditions {
		if np.Status.Conditions[i].Type == name {
			return &np.Status.Conditions[i]
		}
	}
	return nil
}

func state(c *metav1.Condition) (done bool, text string) {
	switch {
	case c == nil:
		return false, "not reported yet"
	case c.Status == metav1.ConditionTrue:
		return true, "True"
	case c.Message == "":
		return false, string(c.Status) + ": " + c.Reason
	}
	return false, c.Message
}

// Deletion returns the waits of a cluster's deletion. It is done when only our finalizer remains. hc is nil after it is deleted.
func Deletion(hc *hyperv1.HostedCluster, pools []hyperv1.NodePool, finalizer string) Progress {
	if hc == nil {
		return Progress{Done: true}
	}
	var others []string
	for _, f := range hc.Finalizers {
		if f != finalizer {
			others = append(others, f)
		}
	}
	p := Progress{Done: !hc.DeletionTimestamp.IsZero() && len(others) == 0}
	cluster := Entry{Name: "hostedcluster", Label: "HostedCluster " + hc.Name, Done: p.Done, Text: "waiting for finalizer " + strings.Join(others, ", ")}
	if p.Done {
		cluster.Text = "all its resources are deleted"
	} else if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterAvailable); c != nil && c.Message != "" {
		cluster.Text = c.Message
	}
	p.Entries = append(p.Entries, cluster)
	for i := range pools {
		e := Entry{Depth: 1, Name: "nodepool/" + pools[i].Name, Label: "NodePool " + pools[i].Name, Text: PoolDeletion(&pools[i])}
		p.Entries = append(p.Entries, e)
	}
	return p
}

// PoolDeletion returns the wait of a NodePool's deletion.
func PoolDeletion(np *hyperv1.NodePool) string {
	for _, name := range []string{hyperv1.NodePoolDeletingCondition, hyperv1.NodePoolReadyCondition} {
		if c := Condition(np, name); c != nil && c.Message != "" {
			return c.Message
		}
	}
	return fmt.Sprintf("%d nodes", np.Status.Replicas)
}
