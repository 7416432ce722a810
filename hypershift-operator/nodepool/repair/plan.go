package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machines"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
)

// Machines that never become nodes are replaced here and not by the MachineHealthCheck, which replaces them at a constant
// pace, for ever, or not at all if more than a few are broken. A cause that all machines share, such as a machine image that
// does not boot, would create instances all day in the first case. In the second case the pool stays broken after the cause
// is gone, because a bootstrap token expires soon and a machine does not try again.
const (
	// repairShare is the part of the pool, one of so many machines, that is replaced at once. At least one machine is.
	repairShare = 5
	// repairAtOnce limits this part in large pools. The status lists the machines.
	repairAtOnce = 10
	// longestRepairDelay limits the back-off, so that a pool recovers within a working day after its cause is gone.
	longestRepairDelay = 8 * time.Hour
	// lateCheckInterval is how often a pool with late machines is reconciled. The events that the repair waits for, such as a
	// connection of Cluster API to the hosted cluster, are not watched.
	lateCheckInterval = time.Minute
)

// repairDelay returns the time between the last replacement and the next one.
func repairDelay(startup time.Duration, attempts int32) time.Duration {
	delay := startup
	for ; attempts > 1 && delay < longestRepairDelay; attempts-- {
		delay *= 2
	}
	return max(startup, min(delay, longestRepairDelay))
}

// Plan lists the machines that did not join, and the ones to replace now.
type Plan struct {
	// record is the new record in the status, or nil for none.
	record *hyperv1.NodePoolRepairStatus
	// replace are the machines to delete. They are in the record.
	replace []*clusterv1.Machine
	// late is the number of machines that should have joined.
	late int
	// startup is how long a machine may take to join.
	startup time.Duration
	// blocked is why machines in replace are not replaced.
	blocked string
	// RequeueAfter is the time until the plan may change because of the clock alone; 0 for never.
	RequeueAfter time.Duration
}

// planFor decides which machines to replace. A round replaces a part of the pool. The next round follows when the back-off
// has passed, and only as many machines as in one round may be starting at the same time. The first machine that joins
// ends the back-off.
func planFor(pool *objects.Pool, startup time.Duration, now time.Time) Plan {
	p := Plan{record: pool.NodePool.Status.Repair, startup: startup}
	var late []*clusterv1.Machine
	starting := 0
	for i := range pool.Machines {
		m := &pool.Machines[i]
		switch {
		case m.Status.NodeRef.IsDefined():
			if p.record != nil && createdSince(m, p.record) {
				p.record = nil
			}
		case !m.DeletionTimestamp.IsZero():
			starting++ // its replacement
		case !repairable(pool, m):
		case now.Before(startOf(pool, m).Add(startup)):
			starting++
			p.RequeueAfter = sooner(p.RequeueAfter, startOf(pool, m).Add(startup).Sub(now))
		default:
			late = append(late, m)
		}
	}
	if p.late = len(late); p.late == 0 {
		return p
	}
	p.RequeueAfter = sooner(p.RequeueAfter, lateCheckInterval)
	slices.SortFunc(late, func(a, b *clusterv1.Machine) int {
		return cmp.Or(startOf(pool, a).Compare(startOf(pool, b)), cmp.Compare(a.Name, b.Name))
	})
	if p.record != nil {
		// The operator may have stopped between the record and the deletion.
		p.replace = slices.DeleteFunc(slices.Clone(late), func(m *clusterv1.Machine) bool {
			return !slices.Contains(p.record.Machines, m.Name) || createdSince(m, p.record)
		})
		if len(p.replace) > 0 {
			return p
		}
		if remaining := p.record.LastTime.Add(repairDelay(startup, p.record.Attempts)).Sub(now); remaining > 0 {
			p.RequeueAfter = sooner(p.RequeueAfter, remaining)
			return p
		}
	}
	n := min(len(late), min(max(1, int(machines.Replicas(pool))/repairShare), repairAtOnce)-starting)
	if n <= 0 {
		return p
	}
	next := &hyperv1.NodePoolRepairStatus{Attempts: 1, LastTime: metav1.NewTime(now.Truncate(time.Second))}
	if p.record != nil {
		next.Attempts += p.record.Attempts
	}
	p.replace = late[:n]
	for _, m := range p.replace {
		next.Machines = append(next.Machines, m.Name)
	}
	p.record = next
	return p
}

// createdSince reports whether a machine was created after a replacement. Both times have whole seconds, and a MachineSet creates
// the next machine within one.
func createdSince(m *clusterv1.Machine, record *hyperv1.NodePoolRepairStatus) bool {
	return !m.CreationTimestamp.Time.Before(record.LastTime.Time)
}

func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b < a {
		return b
	}
	return a
}

// repairable reports whether a machine without a node has something to replace. The AWS provider of Cluster API itself
// repeats a RunInstances that EC2 refuses: another Machine would only ask EC2 more often.
func repairable(pool *objects.Pool, m *clusterv1.Machine) bool {
	for _, annotation := range []string{clusterv1.PausedAnnotation, clusterv1.MachineSkipRemediationAnnotation} {
		if _, set := m.Annotations[annotation]; set {
			return false
		}
	}
	instance := pool.AWSMachineOf(m)
	return instance != nil && (instance.Spec.InstanceID != nil || instance.Status.FailureReason != nil)
}

// startOf returns the time from which a machine could have joined.
func startOf(pool *objects.Pool, m *clusterv1.Machine) time.Time {
	start := m.CreationTimestamp.Time
	since := func(conditions []metav1.Condition, condition string) {
		if c := meta.FindStatusCondition(conditions, condition); c != nil && c.Status == metav1.ConditionTrue && c.LastTransitionTime.After(start) {
			start = c.LastTransitionTime.Time
		}
	}
	since(m.Status.Conditions, clusterv1.MachineInfrastructureReadyCondition)
	if pool.Cluster != nil {
		since(pool.Cluster.Status.Conditions, clusterv1.ClusterControlPlaneInitializedCondition)
		since(pool.Cluster.Status.Conditions, clusterv1.ClusterInfrastructureReadyCondition)
	}
	return start
}

// Backoff describes the wait of the repair for a condition, or returns "". record is the status of the pool.
func (p Plan) Backoff(record *hyperv1.NodePoolRepairStatus) string {
	switch {
	case p.late == 0:
		return ""
	case p.blocked != "":
		return fmt.Sprintf("%d machines did not become nodes, and are not replaced: %s", p.late, p.blocked)
	case record == nil:
		return ""
	}
	return fmt.Sprintf("machines were replaced %d times in a row, and the new ones did not become nodes: the next replacement follows %s after the last",
		record.Attempts, withoutZeros(repairDelay(p.startup, record.Attempts)))
}

// withoutZeros formats a duration without zero units: 20m and not 20m0s.
func withoutZeros(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
