package hostedcluster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// startTimeout is how long a control-plane-operator may be unavailable, to start, to
// be replaced, to move to another node, before its conditions become Unknown.
const startTimeout = 2 * time.Minute

// The intervals of checks of the pods of one that does not run, which are not
// watched: startingInterval while it may still be starting, stoppedInterval after
// that.
const (
	startingInterval = 10 * time.Second
	stoppedInterval  = 30 * time.Second
)

// operatorRuns reports whether the control-plane-operator is available.
func (s *scope) operatorRuns() bool {
	c := deploymentCondition(s.operator, appsv1.DeploymentAvailable)
	return c != nil && c.Status == corev1.ConditionTrue
}

// operatorRunsSince reports whether it has been available without interruption since
// then.
func (r *Reconciler) operatorRunsSince(s *scope, then time.Time) bool {
	return s.operatorRuns() && !deploymentCondition(s.operator, appsv1.DeploymentAvailable).LastTransitionTime.After(then)
}

// findOperatorProblem returns why the control-plane-operator does not run; empty
// while it does, or while it may still be starting. again is when to check again, 0
// for never. A problem of its pods is reported at once, unless the cluster is
// Available: then it may last only for moments.
func (r *Reconciler) findOperatorProblem(ctx context.Context, s *scope) (words string, again time.Duration, err error) {
	var since time.Time
	var trouble string
	words = "the control-plane-operator does not run: "
	switch {
	case s.hcp == nil, s.operatorRuns():
		return "", 0, nil
	case s.operator == nil:
		since = s.hcp.CreationTimestamp.Time
		words += fmt.Sprintf("there is no Deployment %s/%s", s.plane.Name, names.ControlPlaneOperator)
	default:
		since = s.operator.CreationTimestamp.Time
		if c := deploymentCondition(s.operator, appsv1.DeploymentAvailable); c != nil {
			since = c.LastTransitionTime.Time
		}
		if trouble, err = r.podProblem(ctx, s.operator); err != nil {
			return "", 0, err
		}
		words += fmt.Sprintf("Deployment %s/%s: %s", s.plane.Name, s.operator.Name, cmp.Or(trouble, deploymentProblem(s.operator)))
	}
	well := meta.IsStatusConditionTrue(s.hc.Status.Conditions, hyperv1.HostedClusterAvailable)
	left := since.Add(startTimeout).Sub(r.Clock.Now())
	switch {
	case left <= 0:
		return words, stoppedInterval, nil
	case well:
		return "", left, nil
	case trouble == "":
		words = ""
	}
	return words, min(left, startingInterval), nil
}

// podProblem returns why a pod of a Deployment does not run, empty if that is
// unknown.
func (r *Reconciler) podProblem(ctx context.Context, d *appsv1.Deployment) (string, error) {
	pods := &corev1.PodList{}
	if err := r.Reader.List(ctx, pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return "", fmt.Errorf("listing the pods of Deployment %s: %w", d.Name, err)
	}
	for i := range pods.Items {
		if !pods.Items[i].DeletionTimestamp.IsZero() {
			continue // how it ends is not why there is none
		}
		if trouble := component.Trouble(&pods.Items[i]); trouble != "" {
			return trouble, nil
		}
	}
	return "", nil
}

// deploymentProblem returns the most specific condition of a Deployment.
func deploymentProblem(d *appsv1.Deployment) string {
	for _, bad := range []struct {
		condition appsv1.DeploymentConditionType
		status    corev1.ConditionStatus
	}{
		{appsv1.DeploymentReplicaFailure, corev1.ConditionTrue},
		{appsv1.DeploymentProgressing, corev1.ConditionFalse},
		{appsv1.DeploymentAvailable, corev1.ConditionFalse},
	} {
		if c := deploymentCondition(d, bad.condition); c != nil && c.Status == bad.status && c.Message != "" {
			return c.Reason + ": " + c.Message
		}
	}
	return "no pod of it is ready"
}

func deploymentCondition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	if d == nil {
		return nil
	}
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}
