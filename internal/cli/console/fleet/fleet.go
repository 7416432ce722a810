// Package fleet summarizes hosted clusters, each as one row. RowOf and Filter are pure functions.
package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/clusterpath"
)

// State is the state of a cluster.
type State string

// The states, in the order in which they need attention.
const (
	Stalled   State = "stalled"
	NotReady  State = "not ready"
	Deleting  State = "deleting"
	Starting  State = "starting"
	Upgrading State = "upgrading"
	Paused    State = "paused"
	Asleep    State = "asleep"
	Ready     State = "ready"
)

// States are all states in that order.
var States = []State{Stalled, NotReady, Deleting, Starting, Upgrading, Paused, Asleep, Ready}

// Row is a cluster.
type Row struct {
	Namespace, Name, UID string
	State                State
	// Since is when the state began; zero: not known.
	Since time.Time
	// Version runs. Target is being rolled out, or "".
	Version, Target string
	// Access is spec.platform.aws.endpointAccess; "" outside of AWS.
	Access string
	// Waiting is what the cluster waits for; "" if it is ready.
	Waiting string
	// Nodes are available; Wanted is the number in spec, or -1 for an autoscaler.
	Nodes, Wanted int
	// LoadBalancers and Endpoints are numbers of load balancers and VPC endpoints.
	LoadBalancers, Endpoints int
	// DollarsPerDay is an estimate. It is a minimum if AtLeast is true.
	DollarsPerDay float64
	AtLeast       bool
	// CertificatesExpire is when the first certificate of the control plane expires; zero: not known.
	CertificatesExpire time.Time
	// LastBackup is the completion of the newest backup, zero without one; BackupFailed is true if the last backup failed.
	LastBackup   time.Time
	BackupFailed bool
	// Cut is the title of the first segment that requests do not pass, or "".
	Cut string
}

// Key is namespace/name.
func (r Row) Key() string { return r.Namespace + "/" + r.Name }

// RowOf summarizes a cluster. Cost and backups are set by the caller.
func RowOf(o *clustertree.Objects) Row {
	hc := o.HostedCluster
	r := Row{Namespace: hc.Namespace, Name: hc.Name, UID: string(hc.UID)}
	r.Version, r.Target = versions(hc)
	r.State, r.Since, r.Waiting = state(hc, r)
	if aws := hc.Spec.Platform.AWS; aws != nil {
		r.Access = string(aws.EndpointAccess)
	}
	for i := range o.NodePools {
		np := &o.NodePools[i]
		r.Nodes += int(np.Status.Replicas)
		switch {
		case np.Spec.AutoScaling != nil:
			r.Wanted = -1
		case np.Spec.Replicas != nil && r.Wanted >= 0:
			r.Wanted += int(*np.Spec.Replicas)
		}
	}
	for i := range o.Services {
		if len(o.Services[i].Status.LoadBalancer.Ingress) > 0 {
			r.LoadBalancers++
		}
	}
	for i := range o.EndpointServices {
		if o.EndpointServices[i].Status.EndpointID != "" {
			r.Endpoints++
		}
	}
	if hcp := o.HostedControlPlane; hcp != nil && hcp.Status.CertificatesExpire != nil {
		r.CertificatesExpire = hcp.Status.CertificatesExpire.Time
	}
	path := clusterpath.Of(o)
	if cut := path.Cut(); cut != "" {
		for s := range path.Segments {
			if s.ID == cut {
				r.Cut = s.Title
				r.Waiting = cmp.Or(r.Waiting, s.Message)
			}
		}
	}
	return r
}

func versions(hc *hyperv1.HostedCluster) (current, target string) {
	if hc.Status.Version == nil {
		return "", ""
	}
	for i, h := range hc.Status.Version.History {
		if h.State == configv1.CompletedUpdate {
			return h.Version, target
		}
		if i == 0 {
			target = h.Version
		}
	}
	return "", target
}

func state(hc *hyperv1.HostedCluster, r Row) (_ State, since time.Time, waiting string) {
	find := func(name string) *metav1.Condition { return meta.FindStatusCondition(hc.Status.Conditions, name) }
	is := func(name string, status metav1.ConditionStatus) bool {
		c := find(name)
		return c != nil && c.Status == status
	}
	ready := find(hyperv1.HostedClusterReady)
	if ready != nil {
		since = ready.LastTransitionTime.Time
		if ready.Status != metav1.ConditionTrue {
			waiting = cmp.Or(ready.Message, ready.Reason)
		}
	}
	switch {
	case hc.Unreadable() != "":
		return Stalled, time.Time{}, hc.Unreadable()
	case !hc.DeletionTimestamp.IsZero():
		return Deleting, hc.DeletionTimestamp.Time, waiting
	case is(hyperv1.ReconciliationActive, metav1.ConditionFalse):
		// A paused cluster is Stalled, too.
		c := find(hyperv1.ReconciliationActive)
		return Paused, c.LastTransitionTime.Time, c.Message
	case is(hyperv1.HostedClusterStalled, metav1.ConditionTrue):
		c := find(hyperv1.HostedClusterStalled)
		return Stalled, c.LastTransitionTime.Time, c.Message
	case is(hyperv1.HostedClusterAsleep, metav1.ConditionTrue):
		return Asleep, find(hyperv1.HostedClusterAsleep).LastTransitionTime.Time, ""
	case ready == nil:
		return Starting, hc.CreationTimestamp.Time, "the operator has not reported a state yet"
	case r.Version == "":
		return Starting, hc.CreationTimestamp.Time, waiting
	case r.Target != "" && r.Target != r.Version && is(hyperv1.HostedClusterAvailable, metav1.ConditionTrue):
		return Upgrading, since, waiting
	case ready.Status == metav1.ConditionTrue:
		return Ready, since, ""
	}
	return NotReady, since, waiting
}

// Query selects and orders rows.
type Query struct {
	// Text is part of the key, version, access or wait of a row. Words are combined: a row has each of them.
	Text string
	// State selects rows of this state; "" selects all.
	State State
	// Sort is a column: name (the default), state, since, nodes, cost, expiry, backup or version.
	Sort string
}

// Select returns the rows that match, in order. It does not change rows.
func (q Query) Select(rows []Row) []Row {
	selected := []Row{}
	words := strings.Fields(strings.ToLower(q.Text))
	for _, r := range rows {
		if q.State != "" && r.State != q.State {
			continue
		}
		text := strings.ToLower(strings.Join([]string{r.Key(), string(r.State), r.Version, r.Target, r.Access, r.Waiting, r.Cut}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			selected = append(selected, r)
		}
	}
	slices.SortStableFunc(selected, func(a, b Row) int {
		order := 0
		switch q.Sort {
		case "state":
			order = cmp.Compare(slices.Index(States, a.State), slices.Index(States, b.State))
		case "since":
			order = b.Since.Compare(a.Since)
		case "nodes":
			order = cmp.Compare(b.Nodes, a.Nodes)
		case "cost":
			order = cmp.Compare(b.DollarsPerDay, a.DollarsPerDay)
		case "expiry":
			order = a.CertificatesExpire.Compare(b.CertificatesExpire)
		case "backup":
			order = a.LastBackup.Compare(b.LastBackup)
		case "version":
			order = cmp.Compare(a.Version, b.Version)
		}
		return cmp.Or(order, cmp.Compare(a.Key(), b.Key()))
	})
	return selected
}

// Count returns the number of rows of each state.
func Count(rows []Row) map[State]int {
	counts := map[State]int{}
	for _, r := range rows {
		counts[r.State]++
	}
	return counts
}

// NodesText is the number of nodes for people, such as "2 of 3".
func (r Row) NodesText() string {
	if r.Wanted < 0 || r.Wanted == r.Nodes {
		return fmt.Sprint(r.Nodes)
	}
	return fmt.Sprintf("%d of %d", r.Nodes, r.Wanted)
}
