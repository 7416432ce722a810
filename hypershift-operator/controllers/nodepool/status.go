package nodepool

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const calm = "All is well"

// summarize puts what the steps said, and how the machines are, into the status.
func (r *Reconciler) summarize(s *scope, report reconcile.Report) {
	b := newBoard(s.np, r.Clock.Now())
	wasReady := b.is(hyperv1.NodePoolReadyCondition)
	b.conds = reconcile.FromReport(report, words, b.conds, b.generation, b.now)
	b.unchecked(s)
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

	st := &s.np.Status
	st.Conditions = b.conditions()
	st.Replicas = s.available()
	st.NodesInfo = s.nodesInfo()
	if s.hc != nil {
		st.Selector = labels.SelectorFromSet(s.identity()).String()
	}
	if s.rolledOut(b) {
		st.Version = s.release.Version
	}
	if is := b.is(hyperv1.NodePoolReadyCondition); is != wasReady {
		kind, reason := corev1.EventTypeNormal, "NodesAvailable"
		if !is {
			kind, reason = corev1.EventTypeWarning, "NotReady"
		}
		r.Recorder.Eventf(s.np, nil, kind, reason, "Reconcile", "%s", meta.FindStatusCondition(b.conds, hyperv1.NodePoolReadyCondition).Message)
	}
}

// unchecked makes Unknown of what a step could not judge.
func (b *board) unchecked(s *scope) {
	for _, condition := range sortedKeys(s.unchecked) {
		b.set(condition, metav1.ConditionUnknown, hyperv1.StatusUnknownReason, s.unchecked[condition])
	}
}

// unsupported names the fields that are accepted and do nothing yet.
func (b *board) unsupported(s *scope) {
	if fields := s.np.NotActedOn(); len(fields) > 0 {
		b.set(hyperv1.NodePoolSupportedFieldsCondition, metav1.ConditionFalse, hyperv1.NotActedOnReason, "accepted, and without effect in this version: "+strings.Join(fields, ", "))
		return
	}
	b.set(hyperv1.NodePoolSupportedFieldsCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, calm)
}

func (b *board) pause(s *scope) {
	switch {
	case unreadablePause(s.np.Spec.PausedUntil):
		b.set(hyperv1.NodePoolReconciliationActiveCondition, metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason, checkPause(s.np)[0].message)
	case s.paused:
		b.set(hyperv1.NodePoolReconciliationActiveCondition, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason,
			fmt.Sprintf("spec.pausedUntil is %q: remove it to go on", *s.np.Spec.PausedUntil))
	default:
		b.set(hyperv1.NodePoolReconciliationActiveCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, calm)
	}
}

func (b *board) scaling(s *scope) {
	scaling := s.np.Spec.AutoScaling
	switch problems := checkReplicas(s.np); {
	case scaling == nil:
		b.set(hyperv1.NodePoolAutoscalingEnabledCondition, metav1.ConditionFalse, hyperv1.NodePoolReplicasSetReason,
			fmt.Sprintf("spec.replicas says how many nodes there are: %d", ptr.Deref(s.np.Spec.Replicas, 0)))
	case len(problems) > 0:
		b.set(hyperv1.NodePoolAutoscalingEnabledCondition, metav1.ConditionFalse, problems[0].reason, problems[0].message)
	default:
		b.set(hyperv1.NodePoolAutoscalingEnabledCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason,
			fmt.Sprintf("the cluster autoscaler keeps %d to %d nodes", ptr.Deref(scaling.Min, 0), scaling.Max))
	}
}

func (b *board) repair(s *scope, report reconcile.Report) {
	const condition = hyperv1.NodePoolAutorepairEnabledCondition
	for _, o := range report {
		if o.Condition == condition && o.Err != nil {
			return // the annotations cannot be read, as it says
		}
	}
	switch {
	case !s.np.Spec.Management.AutoRepair:
		b.set(condition, metav1.ConditionFalse, hyperv1.NodePoolAutoRepairOffReason, "spec.management.autoRepair is false: broken machines stay until somebody deletes them")
	case s.paused:
		b.set(condition, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, "spec.pausedUntil stops repairs too")
	case s.restricted() != "":
		b.set(condition, metav1.ConditionFalse, hyperv1.NodePoolRemediationRestrictedReason, s.restricted())
	case s.healthCheck == nil:
		b.set(condition, metav1.ConditionFalse, hyperv1.WaitingForReason, "waiting for the MachineHealthCheck")
	default:
		b.set(condition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, calm)
	}
}

// restricted says why broken machines are not replaced although they should be.
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

func (b *board) tags(s *scope) {
	if s.hc == nil || s.hc.Spec.Platform.AWS == nil || s.aws() == nil {
		return
	}
	_, lost := mergeTags(s.hc.Spec.Platform.AWS.ResourceTags, s.aws().ResourceTags)
	if len(lost) == 0 {
		b.set(hyperv1.NodePoolAWSResourceTagConflictCondition, metav1.ConditionFalse, hyperv1.NodePoolNoTagConflictReason, calm)
		return
	}
	b.set(hyperv1.NodePoolAWSResourceTagConflictCondition, metav1.ConditionTrue, hyperv1.NodePoolTagConflictDetectedReason,
		fmt.Sprintf("HostedCluster %s has other values for %s, and they win: remove these tags from the pool, or set their overridePolicy to Allow there", s.hc.Name, strings.Join(lost, ", ")))
}

// wanted is how many machines there shall be.
func (s *scope) wanted() int32 {
	if s.deployment != nil && s.deployment.Spec.Replicas != nil {
		return *s.deployment.Spec.Replicas
	}
	return desiredReplicas(s.np, nil)
}

func (b *board) deletion(s *scope) {
	if s.dying() {
		b.set(hyperv1.NodePoolDeletingCondition, metav1.ConditionTrue, hyperv1.NodePoolMachinesGoReason, s.leftWords())
	}
}

// ready is what the pool waits for, in the order in which it has to come. A
// registry that does not answer just now makes no node worse.
func (b *board) ready(s *scope, report reconcile.Report) {
	no := func(reason, message string) {
		b.set(hyperv1.NodePoolReadyCondition, metav1.ConditionFalse, reason, message)
	}
	if s.dying() {
		no(hyperv1.DeletingReason, "the pool is being deleted")
		return
	}
	var passing error
	for _, o := range report {
		switch {
		case o.Err == nil:
		case words.Transient(o.Err):
			passing = cmp.Or(passing, o.Err)
		default:
			no(saying(o.Err))
			return
		}
	}
	have, want := s.available(), s.wanted()
	if have >= want {
		b.set(hyperv1.NodePoolReadyCondition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, fmt.Sprintf("%d nodes are available", have))
		return
	}
	if passing != nil && s.template == "" {
		no(saying(passing)) // no machine has been asked for
		return
	}
	for _, condition := range []string{hyperv1.NodePoolAllMachinesReadyCondition, hyperv1.NodePoolAllNodesHealthyCondition} {
		if c := meta.FindStatusCondition(b.conds, condition); c != nil && c.Status != metav1.ConditionTrue {
			no(c.Reason, fmt.Sprintf("%d of %d nodes are available: %s", have, want, c.Message))
			return
		}
	}
	no(hyperv1.NodePoolWaitingForMachinesReason, fmt.Sprintf("%d of %d nodes are available", have, want))
}
