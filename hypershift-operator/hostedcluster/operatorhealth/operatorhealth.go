// Package operatorhealth finds out why a control-plane-operator does not run. While it does not run, its earlier reports may no longer be
// true.
package operatorhealth

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// startTimeout is how long a control-plane-operator may be unavailable, to start, to
// be replaced, to move to another node, before its conditions become Unknown.
const startTimeout = 2 * time.Minute

// The intervals between checks of a stopped control-plane-operator's pods, which are not watched:
// startingInterval while it may still be starting, stoppedInterval after that.
const (
	startingInterval = 10 * time.Second
	stoppedInterval  = 30 * time.Second
)

// Facts are the facts about a control-plane-operator.
type Facts struct {
	Plane controlplane.Namespace
	// Deployment is nil if it does not exist.
	Deployment *appsv1.Deployment
	// ControlPlane is its HostedControlPlane; nil if it does not exist, and the operator need not run.
	ControlPlane *hyperv1.HostedControlPlane
	// ClusterAvailable is whether the HostedCluster is Available.
	ClusterAvailable bool
}

// Health is whether a control-plane-operator runs.
type Health struct {
	// Problem is why it does not run; empty while it does, or while it may still be
	// starting.
	Problem string
	// CheckAfter is when to check again, 0 for never.
	CheckAfter time.Duration
}

// Check reads the pods of a control-plane-operator that is not available, and
// evaluates the facts. A Deployment that was just created has no pods to read.
func Check(ctx context.Context, pods client.Reader, f Facts, now time.Time) (Health, error) {
	if f.Deployment == nil || f.ControlPlane == nil || IsAvailable(f.Deployment) || f.Deployment.Status.Replicas == 0 {
		return f.evaluate("", now), nil
	}
	problem, err := podProblem(ctx, pods, f.Deployment)
	if err != nil {
		return Health{}, err
	}
	return f.evaluate(problem, now), nil
}

// evaluate reports a problem of the pods at once, unless the cluster is Available:
// then it may last only for moments.
func (f Facts) evaluate(podProblem string, now time.Time) Health {
	var since time.Time
	problem := "the control-plane-operator does not run: "
	switch {
	case f.ControlPlane == nil, IsAvailable(f.Deployment):
		return Health{}
	case f.Deployment == nil:
		since = f.ControlPlane.CreationTimestamp.Time
		problem += fmt.Sprintf("there is no Deployment %s/%s", f.Plane.Name, names.ControlPlaneOperator)
	default:
		since = f.Deployment.CreationTimestamp.Time
		if c := condition(f.Deployment, appsv1.DeploymentAvailable); c != nil {
			since = c.LastTransitionTime.Time
		}
		problem += fmt.Sprintf("Deployment %s/%s: %s", f.Plane.Name, f.Deployment.Name, cmp.Or(podProblem, deploymentProblem(f.Deployment)))
	}
	remaining := since.Add(startTimeout).Sub(now)
	switch {
	case remaining <= 0:
		return Health{Problem: problem, CheckAfter: stoppedInterval}
	case f.ClusterAvailable:
		return Health{CheckAfter: remaining}
	case podProblem == "":
		problem = ""
	}
	return Health{Problem: problem, CheckAfter: min(remaining, startingInterval)}
}

// IsAvailable reports whether a pod of the Deployment, which may be nil, is ready.
func IsAvailable(d *appsv1.Deployment) bool {
	c := condition(d, appsv1.DeploymentAvailable)
	return c != nil && c.Status == corev1.ConditionTrue
}

// IsAvailableSince reports whether that has been so without interruption since then.
func IsAvailableSince(d *appsv1.Deployment, then time.Time) bool {
	return IsAvailable(d) && !condition(d, appsv1.DeploymentAvailable).LastTransitionTime.After(then)
}

// podProblem returns why a pod of a Deployment does not run, empty if that is
// unknown.
func podProblem(ctx context.Context, reader client.Reader, d *appsv1.Deployment) (string, error) {
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return "", fmt.Errorf("listing the pods of Deployment %s: %w", d.Name, err)
	}
	for i := range pods.Items {
		if !pods.Items[i].DeletionTimestamp.IsZero() {
			continue // how a pod ends does not explain why none is available
		}
		if problem := component.PodProblem(&pods.Items[i]); problem != "" {
			return problem, nil
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
		if c := condition(d, bad.condition); c != nil && c.Status == bad.status && c.Message != "" {
			return c.Reason + ": " + c.Message
		}
	}
	return "no pod of it is ready"
}

func condition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
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
