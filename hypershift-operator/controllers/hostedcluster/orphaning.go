package hostedcluster

import (
	"context"
	"fmt"
	"slices"
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

// defaultOrphanAfter is time to repair what was deleted or misconfigured: an OIDC
// provider, a trust policy, a flag of this operator.
const defaultOrphanAfter = 10 * time.Minute

func orphanAfter(s *scope) time.Duration {
	return duration(s.hc, hyperv1.GiveUpAfterAnnotation, defaultOrphanAfter)
}

// isOverdue reports whether a state has lasted for the whole period since then, and
// a deletion, if there is one, as well.
func (r *Reconciler) isOverdue(s *scope, since time.Time) bool {
	if s.deleting() && s.hc.DeletionTimestamp.After(since) {
		since = s.hc.DeletionTimestamp.Time
	}
	return r.Clock.Now().Sub(since) >= orphanAfter(s)
}

// orphanEndpoint removes the control-plane-operator's finalizer from an
// AWSEndpointService when no operator can delete its resources any more. It records
// what remains in the customer's account, with ids.
func (r *Reconciler) orphanEndpoint(ctx context.Context, s *scope, es *hyperv1.AWSEndpointService) error {
	if es.DeletionTimestamp.IsZero() || !hasOperatorFinalizer(es) {
		return nil
	}
	why := r.unrecoverable(s)
	if why == "" {
		return nil
	}
	if err := r.recordLeft(ctx, s, es, why, endpointResources(es)...); err != nil {
		return err
	}
	if err := reconcile.RemoveFinalizer(ctx, r.Client, es, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return fmt.Errorf("giving up on AWSEndpointService %s: %w", es.Name, err)
	}
	return nil
}

// orphanControlPlane removes the finalizers of a HostedControlPlane if its operator
// cannot run again. The namespace is deleted with what they protect: Services,
// Routes and pods.
func (r *Reconciler) orphanControlPlane(ctx context.Context, s *scope) error {
	if s.hcp == nil || s.hcp.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.orphanWorkerSecurityGroup(ctx, s); err != nil || !r.namespaceLost(s) {
		return err
	}
	for _, finalizer := range []string{hyperv1.HostedClusterFinalizer, hyperv1.ControlPlaneComponentsFinalizer} {
		if err := reconcile.RemoveFinalizer(ctx, r.Client, s.hcp, finalizer); err != nil {
			return fmt.Errorf("giving up on HostedControlPlane %s: %w", s.hcp.Name, err)
		}
	}
	return nil
}

// orphanWorkerSecurityGroup does the same for the security group of the workers,
// which belongs to the HostedControlPlane.
func (r *Reconciler) orphanWorkerSecurityGroup(ctx context.Context, s *scope) error {
	why := r.unrecoverable(s)
	if why == "" || !hasOperatorFinalizer(s.hcp) {
		return nil
	}
	if group := workerSecurityGroup(s.hcp); group != nil {
		if err := r.recordLeft(ctx, s, s.hcp, why, *group); err != nil {
			return err
		}
	}
	if err := reconcile.RemoveFinalizer(ctx, r.Client, s.hcp, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return fmt.Errorf("giving up on the security group of the workers: %w", err)
	}
	return nil
}

func hasOperatorFinalizer(obj client.Object) bool {
	return slices.Contains(obj.GetFinalizers(), hyperv1.ControlPlaneOperatorFinalizer)
}

// unrecoverable returns why nothing will ever delete what the control-plane-operator
// created; empty as long as that is not certain.
func (r *Reconciler) unrecoverable(s *scope) string {
	switch {
	case r.namespaceLost(s):
		return "namespace " + s.plane.Name + " was deleted, and the control-plane-operator with it"
	case r.identityLost(s):
		return "AWS does not accept the cluster's identity (" + meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider).Message + ")"
	}
	return ""
}

// identityLost reports whether AWS has rejected the cluster's identity for the
// whole period, and still does. Only the control-plane-operator checks it, so that
// it must have been running for long enough to check again. A missing answer is no
// rejection.
func (r *Reconciler) identityLost(s *scope) bool {
	return !s.rejectedSince.IsZero() && r.operatorRunsSince(s, r.Clock.Now().Add(-identityCheckTimeout)) && r.isOverdue(s, s.rejectedSince)
}

// identityRejectedSince returns since when AWS rejects the cluster's identity, as
// far as this operator has observed it; zero if it does not.
func identityRejectedSince(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, now time.Time) time.Time {
	var c *metav1.Condition
	if hcp != nil {
		c = meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider)
	}
	if c == nil || c.Status != metav1.ConditionFalse {
		endWait(&hc.Status, hyperv1.WaitForAWSIdentity)
		return time.Time{}
	}
	return waitingSince(&hc.Status, hyperv1.WaitForAWSIdentity, c, now)
}

// identityCheckTimeout is the time in which a running control-plane-operator has
// checked the identity again after a rejection, including slow answers of AWS.
const identityCheckTimeout = 2 * time.Minute

// namespaceLost is true when a user has deleted the namespace with the
// control-plane-operator in it: nothing can be created in it any more.
func (r *Reconciler) namespaceLost(s *scope) bool {
	return s.namespaceTerminating() && !s.operatorRuns() && r.isOverdue(s, s.namespace.DeletionTimestamp.Time)
}

// recordLeft records orphaned resources in the status and in an event. It precedes
// the removal of the finalizer that waits for them, so that they are reported even
// if the process dies in between.
func (r *Reconciler) recordLeft(ctx context.Context, s *scope, related runtime.Object, why string, resources ...hyperv1.LeftBehindResource) error {
	recordLeftBehind(&s.hc.Status, resources)
	if err := s.save(ctx); err != nil {
		return err
	}
	left := describeAll(resources)
	ctrl.LoggerFrom(ctx).Info("Leaving cloud resources behind", "why", why, "left", left)
	r.Recorder.Eventf(s.hc, related, corev1.EventTypeWarning, "CloudResourcesLeftBehind", "GiveUp", "%s; left behind: %s", why, left)
	return nil
}
