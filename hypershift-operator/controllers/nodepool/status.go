package nodepool

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machines"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machinestate"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// summarize adds the conditions that no single step sets, and the other fields of the status.
func (r *Reconciler) summarize(s *scope, report reconcile.Report, conditions *reconcile.Conditions) {
	b := conditionBuilder{conditions}
	b.unsupported(s)
	b.pause(s)
	b.scaling(s)
	b.repair(s, report)
	b.tags(s)
	b.machines(s)
	b.network(s)
	b.rollout(s)
	b.deletion(s)
	b.ready(s, report)
	b.reconciling()
	b.stalled(s, report)

	st := &s.NodePool.Status
	st.ObservedGeneration = s.NodePool.Generation
	st.Replicas = machinestate.Available(s.Pool)
	st.NodesInfo = machinestate.NodesInfo(s.Pool)
	if s.HostedCluster != nil {
		st.Selector = labels.SelectorFromSet(s.Identity()).String()
	}
	if b.rolledOut(s) {
		st.Version = s.Release.Version
	}
	for _, e := range b.events(s) {
		r.Recorder.Eventf(s.NodePool, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
}

// unsupported names the fields that are accepted and have no effect yet.
func (b conditionBuilder) unsupported(s *scope) {
	fields := s.NodePool.NotActedOn()
	for _, key := range s.NodePool.AnnotationsNotActedOn() {
		fields = append(fields, "annotation "+key)
	}
	if len(fields) > 0 {
		b.Set(hyperv1.NodePoolSupportedFieldsCondition, metav1.ConditionFalse, hyperv1.NotActedOnReason, "accepted, and without effect in this version: "+strings.Join(fields, ", "))
		return
	}
	b.Set(hyperv1.NodePoolSupportedFieldsCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
}

func (b conditionBuilder) pause(s *scope) {
	switch errs := validation.NodePoolPause(s.NodePool.Spec.PausedUntil); {
	case len(errs) > 0:
		b.Set(hyperv1.NodePoolReconciliationActiveCondition, metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason, validation.Message(errs))
	case s.paused:
		b.Set(hyperv1.NodePoolReconciliationActiveCondition, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason,
			fmt.Sprintf("spec.pausedUntil is %q: remove it to go on", *s.NodePool.Spec.PausedUntil))
	default:
		b.Set(hyperv1.NodePoolReconciliationActiveCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
	}
}

func (b conditionBuilder) scaling(s *scope) {
	scaling := s.NodePool.Spec.AutoScaling
	switch errs := validation.NodePoolReplicas(&s.NodePool.Spec); {
	case scaling == nil:
		b.Set(hyperv1.NodePoolAutoscalingEnabledCondition, metav1.ConditionFalse, hyperv1.NodePoolReplicasSetReason,
			fmt.Sprintf("spec.replicas sets the number of nodes: %d", ptr.Deref(s.NodePool.Spec.Replicas, 0)))
	case len(errs) > 0:
		b.Set(hyperv1.NodePoolAutoscalingEnabledCondition, metav1.ConditionFalse, validation.Reason(errs), errs[0].Detail)
	default:
		status, reason, message := autoscaling(s)
		b.Set(hyperv1.NodePoolAutoscalingEnabledCondition, status, reason, message)
	}
}

// autoscaling reports whether the cluster autoscaler sets the number of machines of the pool. The Deployment is the evidence: the
// release decides only why it does not exist.
func autoscaling(s *scope) (status metav1.ConditionStatus, reason, message string) {
	least, most := ptr.Deref(s.NodePool.Spec.AutoScaling.Min, 0), s.NodePool.Spec.AutoScaling.Max
	kept := fmt.Sprintf("the pool keeps the number of its nodes within %d and %d", least, most)
	switch {
	case s.HostedCluster != nil && s.HostedCluster.Annotations[hyperv1.DisableClusterAutoscalerAnnotation] == "true":
		return metav1.ConditionFalse, hyperv1.NodePoolAutoscalerDisabledReason,
			fmt.Sprintf("HostedCluster %s has annotation %s, so that %s: remove the annotation, or set spec.replicas", s.HostedCluster.Name, hyperv1.DisableClusterAutoscalerAnnotation, kept)
	case s.paused:
		return metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, "spec.pausedUntil stops the cluster autoscaler too"
	case s.HostedControlPlane.Sleeps():
		return metav1.ConditionFalse, hyperv1.AsleepReason, sleepDetail(s)
	case s.Autoscaler != nil && isAvailable(s.Autoscaler):
		return metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, fmt.Sprintf("the cluster autoscaler keeps %d to %d nodes", least, most)
	case s.Autoscaler == nil && s.control != nil && s.control.Components[names.ClusterAutoscaler] == "":
		return metav1.ConditionFalse, hyperv1.NodePoolAutoscalerMissingReason,
			fmt.Sprintf("release %s of the HostedCluster has no image %s, so that %s: choose a release that has it, or set spec.replicas", s.control.Version, names.ClusterAutoscaler, kept)
	}
	return metav1.ConditionFalse, hyperv1.NodePoolAutoscalerNotAvailableReason,
		fmt.Sprintf("waiting for Deployment %s in namespace %s: until it is available, %s", names.ClusterAutoscaler, s.Namespace, kept)
}

func (b conditionBuilder) repair(s *scope, report reconcile.Report) {
	const condition = hyperv1.NodePoolAutorepairEnabledCondition
	for _, o := range report {
		if o.Condition == condition && o.Err != nil {
			return // the annotations cannot be read, as it says
		}
	}
	switch {
	case !s.NodePool.Spec.Management.AutoRepair:
		b.Set(condition, metav1.ConditionFalse, hyperv1.NodePoolAutoRepairOffReason, "spec.management.autoRepair is false: unhealthy machines are not replaced")
	case s.paused:
		b.Set(condition, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, "spec.pausedUntil stops repairs too")
	case s.HostedControlPlane.Sleeps():
		b.Set(condition, metav1.ConditionFalse, hyperv1.AsleepReason, sleepDetail(s))
	case restricted(s.MachineHealthCheck) != "":
		b.Set(condition, metav1.ConditionFalse, hyperv1.NodePoolRemediationRestrictedReason, restricted(s.MachineHealthCheck))
	case s.repair.Backoff(s.NodePool.Status.Repair) != "":
		b.Set(condition, metav1.ConditionTrue, hyperv1.NodePoolRepairBackoffReason, s.repair.Backoff(s.NodePool.Status.Repair))
	case s.MachineHealthCheck == nil:
		b.Set(condition, metav1.ConditionFalse, hyperv1.WaitingForReason, "waiting for the MachineHealthCheck")
	default:
		b.Set(condition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
	}
}

// restricted returns why broken machines are not replaced although they should be.
func restricted(mhc *clusterv1.MachineHealthCheck) string {
	if mhc == nil {
		return ""
	}
	c := meta.FindStatusCondition(mhc.Status.Conditions, clusterv1.MachineHealthCheckRemediationAllowedCondition)
	if c == nil || c.Status != metav1.ConditionFalse {
		return ""
	}
	return "too many machines are broken at once for one to be replaced: " + c.Message
}

func (b conditionBuilder) tags(s *scope) {
	if s.HostedCluster == nil || s.HostedCluster.Spec.Platform.AWS == nil || s.AWS() == nil {
		return
	}
	_, lost := machines.MergeTags(s.HostedCluster.Spec.Platform.AWS.ResourceTags, s.AWS().ResourceTags)
	if len(lost) == 0 {
		b.Set(hyperv1.NodePoolAWSResourceTagConflictCondition, metav1.ConditionFalse, hyperv1.NodePoolNoTagConflictReason, reconcile.AllIsWell)
		return
	}
	b.Set(hyperv1.NodePoolAWSResourceTagConflictCondition, metav1.ConditionTrue, hyperv1.NodePoolTagConflictDetectedReason,
		fmt.Sprintf("HostedCluster %s has other values for %s, and they win: remove these tags from the pool, or set their overridePolicy to Allow there", s.HostedCluster.Name, strings.Join(lost, ", ")))
}

func (b conditionBuilder) deletion(s *scope) {
	if s.Dying() {
		b.Set(hyperv1.NodePoolDeletingCondition, metav1.ConditionTrue, hyperv1.NodePoolMachinesGoReason, machinestate.Remaining(s.Pool))
	}
}

// ready reports the first thing that the pool waits for, in the order in which they have to come. A
// registry that does not answer just now does not make a ready pool not ready.
func (b conditionBuilder) ready(s *scope, report reconcile.Report) {
	no := func(reason, message string) {
		b.Set(hyperv1.NodePoolReadyCondition, metav1.ConditionFalse, reason, message)
	}
	if s.Dying() {
		no(hyperv1.DeletingReason, "the pool is being deleted: "+machinestate.Remaining(s.Pool))
		return
	}
	var passing error
	for _, o := range report {
		switch {
		case o.Err == nil:
		case classifier.IsTransient(o.Err):
			passing = cmp.Or(passing, o.Err)
		default:
			no(reconcile.ReasonAndMessage(o.Err, classifier))
			return
		}
	}
	if s.HostedControlPlane.Sleeps() {
		no(hyperv1.AsleepReason, sleepDetail(s))
		return
	}
	available, desired := machinestate.Available(s.Pool), machines.Replicas(s.Pool)
	if available >= desired {
		b.Set(hyperv1.NodePoolReadyCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, fmt.Sprintf("%d nodes are available", available))
		return
	}
	if passing != nil && s.Current.Template == "" {
		no(reconcile.ReasonAndMessage(passing, classifier)) // no machine has been requested
		return
	}
	for _, condition := range []string{hyperv1.NodePoolAllMachinesReadyCondition, hyperv1.NodePoolAllNodesHealthyCondition} {
		if c := b.Get(condition); c != nil && c.Status != metav1.ConditionTrue {
			no(c.Reason, fmt.Sprintf("%d of %d nodes are available: %s", available, desired, c.Message))
			return
		}
	}
	no(hyperv1.NodePoolWaitingForMachinesReason, fmt.Sprintf("%d of %d nodes are available", available, desired))
}

// sleepDetail returns what happens to the machines of a sleeping cluster.
func sleepDetail(s *scope) string {
	if len(s.Machines) == 0 {
		return "the HostedCluster sleeps: machines are created when it wakes"
	}
	return fmt.Sprintf("the HostedCluster sleeps: %d machines are kept, and not repaired", len(s.Machines))
}

// reconciling reports that nodes are being updated, also while enough of them are available for the pool to be ready.
func (b conditionBuilder) reconciling() {
	for _, t := range []string{hyperv1.NodePoolUpdatingVersionCondition, hyperv1.NodePoolUpdatingConfigCondition, hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition} {
		if c := b.Get(t); c != nil && c.Status == metav1.ConditionTrue {
			b.Set(hyperv1.NodePoolReconcilingCondition, metav1.ConditionTrue, c.Reason, c.Type+": "+c.Message)
			return
		}
	}
	b.Remove(hyperv1.NodePoolReconcilingCondition)
}

// stalled reports that only a change of the pool or of its HostedCluster helps.
func (b conditionBuilder) stalled(s *scope, report reconcile.Report) {
	if s.Dying() {
		b.Remove(hyperv1.NodePoolStalledCondition)
		return
	}
	if c := b.Get(hyperv1.NodePoolReconciliationActiveCondition); c != nil && c.Status == metav1.ConditionFalse {
		b.Set(hyperv1.NodePoolStalledCondition, metav1.ConditionTrue, c.Reason, c.Type+": "+c.Message)
		return
	}
	for _, o := range report {
		var block *reconcile.Blocked
		if errors.As(o.Err, &block) {
			b.Set(hyperv1.NodePoolStalledCondition, metav1.ConditionTrue, block.Reason, cmp.Or(o.Condition, o.Step)+": "+block.Message)
			return
		}
	}
	b.Remove(hyperv1.NodePoolStalledCondition)
}
