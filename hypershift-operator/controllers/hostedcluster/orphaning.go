package hostedcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// defaultGiveUpAfter is time for somebody to repair what was deleted or set
// wrong: an OIDC provider, a trust policy, a flag of this operator.
const defaultGiveUpAfter = 10 * time.Minute

func giveUpAfter(s *scope) time.Duration {
	return duration(s.hc, hyperv1.GiveUpAfterAnnotation, defaultGiveUpAfter)
}

// longAgo says whether what has been so since then has been so for the whole
// period, and the deletion, if there is one, is that old too.
func (r *Reconciler) longAgo(s *scope, since time.Time) bool {
	if s.dying() && s.hc.DeletionTimestamp.After(since) {
		since = s.hc.DeletionTimestamp.Time
	}
	return r.Clock.Now().Sub(since) >= giveUpAfter(s)
}

// giveUp takes the control-plane-operator's finalizer from an AWSEndpointService
// when nobody is left who could do what it waits for. What that leaves in the
// customer's account is named, by id.
func (r *Reconciler) giveUp(ctx context.Context, s *scope, es *hyperv1.AWSEndpointService) error {
	if es.DeletionTimestamp.IsZero() || !heldByOperator(es) {
		return nil
	}
	why := r.hopeless(s)
	if why == "" {
		return nil
	}
	if err := r.leave(ctx, s, es, why, leftovers(es)); err != nil {
		return err
	}
	if err := reconcile.RemoveFinalizer(ctx, r.Client, es, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return fmt.Errorf("giving up on AWSEndpointService %s: %w", es.Name, err)
	}
	return nil
}

// releaseControlPlane lets a HostedControlPlane go whose operator is gone for
// good. What it held back went with the namespace: Services, Routes and pods.
func (r *Reconciler) releaseControlPlane(ctx context.Context, s *scope) error {
	if s.hcp == nil || s.hcp.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.giveUpWorkerGroup(ctx, s); err != nil || !r.namespaceLost(s) {
		return err
	}
	for _, finalizer := range []string{hyperv1.HostedClusterFinalizer, hyperv1.ControlPlaneComponentsFinalizer} {
		if err := reconcile.RemoveFinalizer(ctx, r.Client, s.hcp, finalizer); err != nil {
			return fmt.Errorf("giving up on HostedControlPlane %s: %w", s.hcp.Name, err)
		}
	}
	return nil
}

// giveUpWorkerGroup is giveUp for the security group of the workers, which the
// HostedControlPlane stands for.
func (r *Reconciler) giveUpWorkerGroup(ctx context.Context, s *scope) error {
	why := r.hopeless(s)
	if why == "" || !heldByOperator(s.hcp) {
		return nil
	}
	if left := workerGroup(s.hcp); left != "" {
		if err := r.leave(ctx, s, s.hcp, why, left); err != nil {
			return err
		}
	}
	if err := reconcile.RemoveFinalizer(ctx, r.Client, s.hcp, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return fmt.Errorf("giving up on the security group of the workers: %w", err)
	}
	return nil
}

// workerGroup names the security group of the workers, or is empty if none was
// ever reached.
func workerGroup(hcp *hyperv1.HostedControlPlane) string {
	if p := hcp.Status.Platform; p != nil && p.AWS != nil && p.AWS.DefaultWorkerSecurityGroupID != "" {
		return "security group " + p.AWS.DefaultWorkerSecurityGroupID
	}
	if record := hcp.Status.WorkerSecurityGroup; record != nil && record.Creating {
		return "a security group of the workers, if it was made, in " + record.VPC
	}
	return ""
}

func heldByOperator(obj client.Object) bool {
	return slices.Contains(obj.GetFinalizers(), hyperv1.ControlPlaneOperatorFinalizer)
}

// hopeless says why nobody will ever delete what the control-plane-operator
// made, or nothing as long as that is not known.
func (r *Reconciler) hopeless(s *scope) string {
	switch {
	case r.namespaceLost(s):
		return "namespace " + s.controlPlane + " was deleted, and the control-plane-operator with it"
	case r.identityLost(s):
		return "AWS does not accept the cluster's identity (" + meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider).Message + ")"
	}
	return ""
}

// identityLost is true when the answer of AWS has been "no" for the whole
// period, not just no answer, and when it still is: it is the
// control-plane-operator that asks, so one must have been running for long
// enough to have asked. Without a HostedControlPlane nobody asks.
func (r *Reconciler) identityLost(s *scope) bool {
	if s.hcp == nil || !r.operatorRunsSince(s, r.Clock.Now().Add(-askPeriod)) {
		return false
	}
	c := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider)
	return c != nil && c.Status == metav1.ConditionFalse && r.longAgo(s, c.LastTransitionTime.Time)
}

// askPeriod is how soon a control-plane-operator that runs has asked AWS again
// after a "no", with room for an AWS that is slow to answer.
const askPeriod = 2 * time.Minute

// namespaceLost is true when somebody has deleted the namespace with the
// control-plane-operator in it: nothing can be made in it again, ever.
func (r *Reconciler) namespaceLost(s *scope) bool {
	return s.namespaceEnds() && !s.operatorRuns() && r.longAgo(s, s.namespace.DeletionTimestamp.Time)
}

// leave says what is left behind: in a condition that stays until the cluster
// is gone, and in an event. It comes before the deed, so that it is said even
// by a process that dies in between.
func (r *Reconciler) leave(ctx context.Context, s *scope, related runtime.Object, why, left string) error {
	items := []string{left}
	if was := meta.FindStatusCondition(s.hc.Status.Conditions, hyperv1.CloudResourcesDestroyed); leftBehind(was) {
		if items = itemsLeft(was); !slices.Contains(items, left) {
			items = append(items, left)
		}
	}
	reconcile.SetCondition(&s.hc.Status.Conditions, metav1.Condition{
		Type: hyperv1.CloudResourcesDestroyed, Status: metav1.ConditionFalse, Reason: hyperv1.CloudResourcesCleanupSkippedReason,
		Message: wordsLeft(items), ObservedGeneration: s.hc.Generation,
	}, r.Clock.Now())
	if err := s.save(ctx); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Giving up", "why", why, "left", left)
	r.Recorder.Eventf(s.hc, related, corev1.EventTypeWarning, "CloudResourcesLeftBehind", "GiveUp", "%s; left behind: %s", why, left)
	return nil
}

// leftBehind recognizes what leave has said.
func leftBehind(c *metav1.Condition) bool {
	return c != nil && c.Reason == hyperv1.CloudResourcesCleanupSkippedReason
}

const (
	leftIntro     = "left behind: "
	leftSeparator = "; "
)

// itemsLeft are what such a condition names, and wordsLeft its message.
func itemsLeft(c *metav1.Condition) []string {
	return strings.Split(strings.TrimPrefix(c.Message, leftIntro), leftSeparator)
}

func wordsLeft(items []string) string { return leftIntro + strings.Join(items, leftSeparator) }

// takenOver says what is still left behind when a control plane has the security
// group of the workers that an earlier one left: empty for nothing.
func takenOver(c *metav1.Condition, hcp *hyperv1.HostedControlPlane) string {
	items := itemsLeft(c)
	if hcp != nil && hcp.DeletionTimestamp.IsZero() {
		items = slices.DeleteFunc(items, func(item string) bool { return item == workerGroup(hcp) })
	}
	if len(items) == 0 {
		return ""
	}
	return wordsLeft(items)
}

// leftovers names what the customer's half of an AWSEndpointService consists of.
func leftovers(es *hyperv1.AWSEndpointService) string {
	var parts []string
	add := func(what, id string) {
		if id != "" {
			parts = append(parts, what+" "+id)
		}
	}
	add("VPC endpoint", es.Status.EndpointID)
	add("security group", es.Status.SecurityGroupID)
	add("records", strings.Join(es.Status.DNSNames, ", "))
	if len(es.Status.DNSNames) > 0 {
		add("of hosted zone", es.Status.DNSZoneID)
	}
	if len(parts) == 0 {
		return "nothing that " + es.Name + " had recorded"
	}
	return strings.Join(parts, ", ")
}
