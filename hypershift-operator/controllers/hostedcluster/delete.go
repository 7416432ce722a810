package hostedcluster

import (
	"context"
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
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// deletionInterval is the interval of checks during a deletion. Most objects are
// watched; it is for those of which no watch reports the end.
const deletionInterval = 30 * time.Second

// deleteNodePools deletes the workers first: they need the endpoint, and their
// machines need the credentials.
func (r *Reconciler) deleteNodePools(ctx context.Context, s *scope) error {
	if len(s.pools) == 0 {
		return nil
	}
	// Cluster API deletes no machine while it is paused.
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
	if err := r.orphanMachines(ctx, s); err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for the machines of node pools %s to go%s", strings.Join(left, ", "), r.retainWorkers(ctx, s))
}

// deleteEndpoints waits for both operators to delete their half. The
// HostedControlPlane is deleted at the same time, so that no new endpoints are
// created; it exists until its operator is done.
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
		if err := r.orphanEndpoint(ctx, s, es); err != nil {
			return err
		}
		left = append(left, es.Name+" ("+r.progress(es)+")")
	}
	if len(left) > 0 {
		return reconcile.Wait(deletionInterval, hyperv1.CloudResourcesRemainingReason, "waiting for AWSEndpointServices to go: %s%s", strings.Join(left, ", "), s.blockedDetail())
	}
	return nil
}

// progress returns what an AWSEndpointService reports during its deletion, unless no
// operator is able to continue it.
func (r *Reconciler) progress(es *hyperv1.AWSEndpointService) string {
	condition := hyperv1.AWSEndpointServiceAvailable
	switch {
	case hasOperatorFinalizer(es):
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
	if err := r.orphanControlPlane(ctx, s); err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for HostedControlPlane %s to go%s%s", s.hcp.Name, remainingDetail(s.hcp), s.blockedDetail())
}

// remainingDetail returns why a HostedControlPlane still exists, as the end of a
// sentence.
func remainingDetail(hcp *hyperv1.HostedControlPlane) string {
	c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.AWSDefaultSecurityGroupDeleted)
	if c == nil || c.Status == metav1.ConditionTrue || !hasOperatorFinalizer(hcp) {
		return ""
	}
	return " (" + c.Message + ")"
}

// deleteNamespace deletes everything else. A namespace of another owner is kept.
func (r *Reconciler) deleteNamespace(ctx context.Context, s *scope) error {
	if s.namespace == nil {
		// The cache may not have a namespace that the last reconcile created.
		ns := &corev1.Namespace{}
		err := r.Reader.Get(ctx, client.ObjectKey{Name: s.plane.Name}, ns)
		if apierrors.IsNotFound(err) || err == nil && !owns(s.hc, ns) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("getting namespace %s: %w", s.plane.Name, err)
		}
		s.namespace = ns
	}
	if err := r.delete(ctx, s.namespace); err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for namespace %s to go", s.plane.Name)
}

// delete deletes an object that is not being deleted yet.
func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	return reconcile.Delete(ctx, r.Client, obj)
}

// waitGracePeriod keeps the object for users who want to read its final state.
func (r *Reconciler) waitGracePeriod(_ context.Context, s *scope) error {
	period := duration(s.hc, hyperv1.DestroyGracePeriodAnnotation, 0)
	if period == 0 {
		return nil
	}
	legacy := meta.FindStatusCondition(s.hc.Status.Conditions, hyperv1.HostedClusterDestroyed)
	if legacy != nil && legacy.Status != metav1.ConditionTrue {
		legacy = nil
	}
	since := waitingSince(&s.hc.Status, hyperv1.WaitForGracePeriod, legacy, r.Clock.Now())
	left := since.Add(period).Sub(r.Clock.Now())
	if left <= 0 {
		return nil
	}
	return reconcile.Wait(left, hyperv1.WaitingForGracePeriodReason, "everything is gone; the object stays for %s", period)
}

// duration parses an annotation; an invalid one counts as not set.
func duration(obj client.Object, annotation string, otherwise time.Duration) time.Duration {
	d, err := time.ParseDuration(obj.GetAnnotations()[annotation])
	if err != nil || d < 0 {
		return otherwise
	}
	return d
}
