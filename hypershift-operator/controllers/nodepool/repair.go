package nodepool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Machines that never become nodes are replaced here and not by the MachineHealthCheck, which replaces them at a constant
// pace, for ever, or not at all if more than a few are broken. A cause that all machines share, such as a machine image that
// does not boot, would create instances all day in the first case. In the second case the pool stays broken after the cause
// is gone, because a bootstrap token has a short life and a machine does not try again.
const (
	// repairShare is the part of the pool, one of so many machines, that is replaced at once. At least one machine is.
	repairShare = 5
	// repairAtOnce limits this part in large pools. The status lists the machines.
	repairAtOnce = 10
	// longestRepairDelay limits the back-off, so that a pool recovers within a working day after its cause is gone.
	longestRepairDelay = 8 * time.Hour
	// lateCheckInterval is how often a pool with late machines is reconciled. What the repair waits for, such as a
	// connection of Cluster API to the hosted cluster, is not watched.
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

// A repairPlan is what to do about the machines that do not join.
type repairPlan struct {
	// record is the new record in the status, or nil for none.
	record *hyperv1.NodePoolRepairStatus
	// replace are the machines to delete. They are in the record.
	replace []*clusterv1.Machine
	// late is the number of machines that should have joined.
	late int
	// blind is why machines in replace are not replaced.
	blind string
	// wait is the time until the plan may change because of the clock alone; 0 for never.
	wait time.Duration
}

// planRepair decides which machines to replace. A round replaces a part of the pool. The next round follows when the back-off
// has passed, and only as many machines as in one round may be starting at the same time. The first machine that joins
// ends the back-off.
func (s *scope) planRepair(now time.Time) repairPlan {
	p := repairPlan{record: s.np.Status.Repair}
	var late []*clusterv1.Machine
	starting := 0
	for i := range s.machines {
		m := &s.machines[i]
		switch {
		case m.Status.NodeRef.IsDefined():
			if p.record != nil && createdSince(m, p.record) {
				p.record = nil
			}
		case !m.DeletionTimestamp.IsZero():
			starting++ // its replacement
		case !s.repairable(m):
		case now.Before(s.startOf(m).Add(s.health.startup)):
			starting++
			p.wait = sooner(p.wait, s.startOf(m).Add(s.health.startup).Sub(now))
		default:
			late = append(late, m)
		}
	}
	if p.late = len(late); p.late == 0 {
		return p
	}
	p.wait = sooner(p.wait, lateCheckInterval)
	slices.SortFunc(late, func(a, b *clusterv1.Machine) int {
		return cmp.Or(s.startOf(a).Compare(s.startOf(b)), cmp.Compare(a.Name, b.Name))
	})
	if p.record != nil {
		// The operator may have stopped between the record and the deletion.
		p.replace = slices.DeleteFunc(slices.Clone(late), func(m *clusterv1.Machine) bool {
			return !slices.Contains(p.record.Machines, m.Name) || createdSince(m, p.record)
		})
		if len(p.replace) > 0 {
			return p
		}
		if left := p.record.LastTime.Add(repairDelay(s.health.startup, p.record.Attempts)).Sub(now); left > 0 {
			p.wait = sooner(p.wait, left)
			return p
		}
	}
	n := min(len(late), min(max(1, int(s.wanted())/repairShare), repairAtOnce)-starting)
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
func (s *scope) repairable(m *clusterv1.Machine) bool {
	for _, annotation := range []string{clusterv1.PausedAnnotation, clusterv1.MachineSkipRemediationAnnotation} {
		if _, set := m.Annotations[annotation]; set {
			return false
		}
	}
	instance := s.instanceOf(m)
	return instance != nil && (instance.Spec.InstanceID != nil || instance.Status.FailureReason != nil)
}

func (s *scope) instanceOf(m *clusterv1.Machine) *infrav1.AWSMachine {
	for i := range s.awsMachines {
		if s.awsMachines[i].Name == m.Spec.InfrastructureRef.Name {
			return &s.awsMachines[i]
		}
	}
	return nil
}

// startOf returns the time from which a machine could have joined.
func (s *scope) startOf(m *clusterv1.Machine) time.Time {
	start := m.CreationTimestamp.Time
	since := func(conditions []metav1.Condition, condition string) {
		if c := meta.FindStatusCondition(conditions, condition); c != nil && c.Status == metav1.ConditionTrue && c.LastTransitionTime.After(start) {
			start = c.LastTransitionTime.Time
		}
	}
	since(m.Status.Conditions, clusterv1.MachineInfrastructureReadyCondition)
	if s.cluster != nil {
		since(s.cluster.Status.Conditions, clusterv1.ClusterControlPlaneInitializedCondition)
		since(s.cluster.Status.Conditions, clusterv1.ClusterInfrastructureReadyCondition)
	}
	return start
}

// replaceLate deletes machines that did not join. Their MachineSet creates others.
func (r *Reconciler) replaceLate(ctx context.Context, s *scope) error {
	if !s.np.Spec.Management.AutoRepair {
		s.np.Status.Repair = nil
		return nil
	}
	plan := s.planRepair(r.Clock.Now())
	s.repair = plan
	if len(plan.replace) == 0 {
		s.np.Status.Repair = plan.record
		return nil
	}
	blind, err := r.cannotSeeNodes(ctx, s)
	if err != nil || blind != "" {
		s.repair.blind = blind
		return err
	}
	// The record is stored first. If the operator stops in between, the next one deletes the machines in the record, and no
	// others.
	s.np.Status.Repair = plan.record
	if err := s.status.Write(ctx); err != nil {
		return err
	}
	for _, m := range plan.replace {
		cause := s.whyNoNode(m).message
		if err := r.delete(ctx, m); err != nil {
			return err
		}
		r.Recorder.Eventf(s.np, m, corev1.EventTypeWarning, "MachineReplaced", "Repair", "Machine %s did not become a node within %s and is replaced: %s", m.Name, s.health.startup, cause)
	}
	return nil
}

// cannotSeeNodes returns why a machine without a node may have one all the same. Cluster API sets the node of a Machine: a
// machine that runs pods must not be deleted because Cluster API does not run, or does not reach the hosted cluster.
func (r *Reconciler) cannotSeeNodes(ctx context.Context, s *scope) (string, error) {
	capi := &appsv1.Deployment{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: names.ClusterAPI}, capi)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("getting Deployment %s: %w", names.ClusterAPI, err)
	}
	if apierrors.IsNotFound(err) || capi.Status.AvailableReplicas == 0 {
		return "Cluster API does not run", nil
	}
	if s.cluster == nil || !meta.IsStatusConditionTrue(s.cluster.Status.Conditions, clusterv1.ClusterRemoteConnectionProbeCondition) {
		return "Cluster API does not reach the API server of the cluster", nil
	}
	return "", nil
}

// backoff describes what the repair of the machines that did not join waits for, or returns "".
func (s *scope) backoff() string {
	record := s.np.Status.Repair
	switch {
	case s.repair.late == 0:
		return ""
	case s.repair.blind != "":
		return fmt.Sprintf("%d machines did not become nodes, and are not replaced: %s", s.repair.late, s.repair.blind)
	case record == nil:
		return ""
	}
	return fmt.Sprintf("machines were replaced %d times in a row, and the new ones did not become nodes: the next replacement follows %s after the last",
		record.Attempts, words(repairDelay(s.health.startup, record.Attempts)))
}

// words formats a duration without zero units: 20m and not 20m0s.
func words(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
