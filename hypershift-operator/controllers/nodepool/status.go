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
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// summarize adds the conditions that are not those of one step, and the other fields of the status.
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

	st := &s.np.Status
	st.ObservedGeneration = s.np.Generation
	st.Replicas = s.available()
	st.NodesInfo = s.nodesInfo()
	if s.hc != nil {
		st.Selector = labels.SelectorFromSet(s.identity()).String()
	}
	if s.rolledOut(b) {
		st.Version = s.release.Version
	}
	for _, e := range b.events(s) {
		r.Recorder.Eventf(s.np, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
}

// unsupported names the fields that are accepted and do nothing yet.
func (b conditionBuilder) unsupported(s *scope) {
	fields := s.np.NotActedOn()
	for _, key := range s.np.AnnotationsNotActedOn() {
		fields = append(fields, "annotation "+key)
	}
	if len(fields) > 0 {
		b.Set(hyperv1.NodePoolSupportedFieldsCondition, metav1.ConditionFalse, hyperv1.NotActedOnReason, "accepted, and without effect in this version: "+strings.Join(fields, ", "))
		return
	}
	b.Set(hyperv1.NodePoolSupportedFieldsCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
}

func (b conditionBuilder) pause(s *scope) {
	switch errs := validation.NodePoolPause(s.np.Spec.PausedUntil); {
	case len(errs) > 0:
		b.Set(hyperv1.NodePoolReconciliationActiveCondition, metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason, validation.Message(errs))
	case s.paused:
		b.Set(hyperv1.NodePoolReconciliationActiveCondition, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason,
			fmt.Sprintf("spec.pausedUntil is %q: remove it to go on", *s.np.Spec.PausedUntil))
	default:
		b.Set(hyperv1.NodePoolReconciliationActiveCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
	}
}

func (b conditionBuilder) scaling(s *scope) {
	scaling := s.np.Spec.AutoScaling
	switch errs := validation.NodePoolReplicas(&s.np.Spec); {
	case scaling == nil:
		b.Set(hyperv1.NodePoolAutoscalingEnabledCondition, metav1.ConditionFalse, hyperv1.NodePoolReplicasSetReason,
			fmt.Sprintf("spec.replicas says how many nodes there are: %d", ptr.Deref(s.np.Spec.Replicas, 0)))
	case len(errs) > 0:
		b.Set(hyperv1.NodePoolAutoscalingEnabledCondition, metav1.ConditionFalse, validation.Reason(errs), errs[0].Detail)
	default:
		status, reason, message := s.autoscaling()
		b.Set(hyperv1.NodePoolAutoscalingEnabledCondition, status, reason, message)
	}
}

func (b conditionBuilder) repair(s *scope, report reconcile.Report) {
	const condition = hyperv1.NodePoolAutorepairEnabledCondition
	for _, o := range report {
		if o.Condition == condition && o.Err != nil {
			return // the annotations cannot be read, as it says
		}
	}
	switch {
	case !s.np.Spec.Management.AutoRepair:
		b.Set(condition, metav1.ConditionFalse, hyperv1.NodePoolAutoRepairOffReason, "spec.management.autoRepair is false: broken machines stay until somebody deletes them")
	case s.paused:
		b.Set(condition, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, "spec.pausedUntil stops repairs too")
	case s.restricted() != "":
		b.Set(condition, metav1.ConditionFalse, hyperv1.NodePoolRemediationRestrictedReason, s.restricted())
	case s.backoff() != "":
		b.Set(condition, metav1.ConditionTrue, hyperv1.NodePoolRepairBackoffReason, s.backoff())
	case s.healthCheck == nil:
		b.Set(condition, metav1.ConditionFalse, hyperv1.WaitingForReason, "waiting for the MachineHealthCheck")
	default:
		b.Set(condition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
	}
}

// restricted returns why broken machines are not replaced although they should be.
func (s *scope) restricted() string {
	if s.healthCheck == nil {
		return ""
	}
	c := meta.FindStatusCondition(s.healthCheck.Status.Conditions, clusterv1.MachineHealthCheckRemediationAllowedCondition)
	if c == nil || c.Status != metav1.ConditionFalse {
		return ""
	}
	return "too many machines are broken at once for one to be replaced: " + c.Message
}

func (b conditionBuilder) tags(s *scope) {
	if s.hc == nil || s.hc.Spec.Platform.AWS == nil || s.aws() == nil {
		return
	}
	_, lost := mergeTags(s.hc.Spec.Platform.AWS.ResourceTags, s.aws().ResourceTags)
	if len(lost) == 0 {
		b.Set(hyperv1.NodePoolAWSResourceTagConflictCondition, metav1.ConditionFalse, hyperv1.NodePoolNoTagConflictReason, reconcile.AllIsWell)
		return
	}
	b.Set(hyperv1.NodePoolAWSResourceTagConflictCondition, metav1.ConditionTrue, hyperv1.NodePoolTagConflictDetectedReason,
		fmt.Sprintf("HostedCluster %s has other values for %s, and they win: remove these tags from the pool, or set their overridePolicy to Allow there", s.hc.Name, strings.Join(lost, ", ")))
}

// wanted is how many machines there shall be.
func (s *scope) wanted() int32 {
	if s.deployment != nil && s.deployment.Spec.Replicas != nil {
		return *s.deployment.Spec.Replicas
	}
	return desiredReplicas(s.np, nil)
}

func (b conditionBuilder) deletion(s *scope) {
	if s.dying() {
		b.Set(hyperv1.NodePoolDeletingCondition, metav1.ConditionTrue, hyperv1.NodePoolMachinesGoReason, s.leftWords())
	}
}

// ready is what the pool waits for, in the order in which it has to come. A
// registry that does not answer just now makes no node worse.
func (b conditionBuilder) ready(s *scope, report reconcile.Report) {
	no := func(reason, message string) {
		b.Set(hyperv1.NodePoolReadyCondition, metav1.ConditionFalse, reason, message)
	}
	if s.dying() {
		no(hyperv1.DeletingReason, "the pool is being deleted: "+s.leftWords())
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
	have, want := s.available(), s.wanted()
	if have >= want {
		b.Set(hyperv1.NodePoolReadyCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, fmt.Sprintf("%d nodes are available", have))
		return
	}
	if passing != nil && s.template == "" {
		no(reconcile.ReasonAndMessage(passing, classifier)) // no machine has been asked for
		return
	}
	for _, condition := range []string{hyperv1.NodePoolAllMachinesReadyCondition, hyperv1.NodePoolAllNodesHealthyCondition} {
		if c := b.Get(condition); c != nil && c.Status != metav1.ConditionTrue {
			no(c.Reason, fmt.Sprintf("%d of %d nodes are available: %s", have, want, c.Message))
			return
		}
	}
	no(hyperv1.NodePoolWaitingForMachinesReason, fmt.Sprintf("%d of %d nodes are available", have, want))
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
	if s.dying() {
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
