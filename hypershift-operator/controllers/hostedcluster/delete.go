package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// deletionPause is how soon to look again at what is being deleted. The objects
// are watched; this is for those whose end a watch cannot tell.
const deletionPause = 30 * time.Second

// deleteNodePools takes the workers away first: they need the endpoint, and
// their machines need the credentials.
func (r *Reconciler) deleteNodePools(ctx context.Context, s *scope) error {
	if len(s.pools) == 0 {
		return nil
	}
	// Machines go only if Cluster API runs, and has not been told to pause.
	if err := r.pauseMachines(ctx, s); err != nil {
		return err
	}
	var left []string
	for i := range s.pools {
		left = append(left, s.pools[i].Name)
		if err := r.delete(ctx, &s.pools[i]); err != nil {
			return err
		}
	}
	if err := r.giveUpMachines(ctx, s); err != nil {
		return err
	}
	return reconcile.Wait(deletionPause, hyperv1.DeletingReason, "waiting for the machines of node pools %s to go%s", strings.Join(left, ", "), r.keepWorkers(ctx, s))
}

// deleteEndpoints waits for both operators to take away their half. The
// HostedControlPlane is asked to go at the same time, so that nobody makes new
// endpoints; it stays until its operator is done.
func (r *Reconciler) deleteEndpoints(ctx context.Context, s *scope) error {
	if s.hcp != nil {
		if err := r.delete(ctx, s.hcp); err != nil {
			return err
		}
	}
	var left []string
	for i := range s.endpoints {
		es := &s.endpoints[i]
		if err := r.delete(ctx, es); err != nil {
			return err
		}
		if err := r.giveUp(ctx, s, es); err != nil {
			return err
		}
		left = append(left, es.Name+" ("+r.progress(es)+")")
	}
	if len(left) > 0 {
		return reconcile.Wait(deletionPause, hyperv1.CloudResourcesRemainingReason, "waiting for AWSEndpointServices to go: %s%s", strings.Join(left, ", "), s.plight())
	}
	return nil
}

// progress is what an AWSEndpointService that is being deleted says about
// itself, unless nobody is there who could go on with it.
func (r *Reconciler) progress(es *hyperv1.AWSEndpointService) string {
	condition := hyperv1.AWSEndpointServiceAvailable
	switch {
	case heldByOperator(es):
		condition = hyperv1.AWSEndpointAvailable
	case r.PrivateRegion == "" && slices.Contains(es.Finalizers, hyperv1.HypershiftOperatorFinalizer):
		return "this installation cannot delete endpoint services: start the hypershift-operator with --private-platform=AWS"
	}
	if c := meta.FindStatusCondition(es.Status.Conditions, condition); c != nil && c.Message != "" {
		return c.Message
	}
	return "asked to go"
}

func (r *Reconciler) deleteControlPlane(ctx context.Context, s *scope) error {
	if s.hcp == nil {
		return nil
	}
	if err := r.delete(ctx, s.hcp); err != nil {
		return err
	}
	if err := r.releaseControlPlane(ctx, s); err != nil {
		return err
	}
	return reconcile.Wait(deletionPause, hyperv1.DeletingReason, "waiting for HostedControlPlane %s to go%s%s", s.hcp.Name, whyStill(s.hcp), s.plight())
}

// whyStill is what holds a HostedControlPlane back, as the end of a sentence.
func whyStill(hcp *hyperv1.HostedControlPlane) string {
	c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.AWSDefaultSecurityGroupDeleted)
	if c == nil || c.Status == metav1.ConditionTrue || !heldByOperator(hcp) {
		return ""
	}
	return " (" + c.Message + ")"
}

// deleteNamespace takes everything else with it. What is not ours stays.
func (r *Reconciler) deleteNamespace(ctx context.Context, s *scope) error {
	if s.namespace == nil {
		// The last pass may have made it a moment ago.
		ns := &corev1.Namespace{}
		err := r.Reader.Get(ctx, client.ObjectKey{Name: s.controlPlane}, ns)
		if apierrors.IsNotFound(err) || err == nil && !owns(s.hc, ns) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("getting namespace %s: %w", s.controlPlane, err)
		}
		s.namespace = ns
	}
	if err := r.delete(ctx, s.namespace); err != nil {
		return err
	}
	return reconcile.Wait(deletionPause, hyperv1.DeletingReason, "waiting for namespace %s to go", s.controlPlane)
}

// delete asks an object to go, once.
func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	return reconcile.Delete(ctx, r.Client, obj)
}

// waitGracePeriod keeps the object for those who want to read its end state.
func (r *Reconciler) waitGracePeriod(_ context.Context, s *scope) error {
	period := duration(s.hc, hyperv1.DestroyGracePeriodAnnotation, 0)
	if period == 0 {
		return nil
	}
	left := period
	if done := meta.FindStatusCondition(s.hc.Status.Conditions, hyperv1.HostedClusterDestroyed); done != nil && done.Status == metav1.ConditionTrue {
		left = done.LastTransitionTime.Add(period).Sub(r.Clock.Now())
	}
	if left <= 0 {
		return nil
	}
	return reconcile.Wait(left, hyperv1.WaitingForGracePeriodReason, "everything is gone; the object stays for %s", period)
}

// duration reads an annotation; what cannot be read counts as not set.
func duration(obj client.Object, annotation string, otherwise time.Duration) time.Duration {
	d, err := time.ParseDuration(obj.GetAnnotations()[annotation])
	if err != nil || d < 0 {
		return otherwise
	}
	return d
}

// destruction says how far deletion is.
func (b *conditionBuilder) destruction(s *scope, report reconcile.Report) {
	if !s.dying() {
		return
	}
	status := metav1.ConditionFalse
	for _, o := range report {
		var wait *reconcile.Waiting
		if errors.As(o.Err, &wait) && wait.Reason == hyperv1.WaitingForGracePeriodReason {
			status = metav1.ConditionTrue
		}
		if o.Err != nil {
			b.Set(hyperv1.HostedClusterDestroyed, status, reasonOf(o.Err), awsx.Message(o.Err))
			return
		}
	}
}
