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

// startPeriod is how long a control-plane-operator may be away, to start, to be
// replaced, to move to another node, before what it said last is doubted.
const startPeriod = 2 * time.Minute

// How often to look at the pods of one that does not run, of which no watch
// tells us: startLook while it may still be starting, and then silentLook.
const (
	startLook  = 10 * time.Second
	silentLook = 30 * time.Second
)

// operatorRuns says whether the control-plane-operator works.
func (s *scope) operatorRuns() bool {
	c := deploymentCondition(s.operator, appsv1.DeploymentAvailable)
	return c != nil && c.Status == corev1.ConditionTrue
}

// operatorRunsSince says whether it has worked from then until now.
func (r *Reconciler) operatorRunsSince(s *scope, then time.Time) bool {
	return s.operatorRuns() && !deploymentCondition(s.operator, appsv1.DeploymentAvailable).LastTransitionTime.After(then)
}

// silence says in words that the control-plane-operator does not run, and why;
// it is empty while it does, or while it may still be starting. again is when
// to look again, 0 for never. What keeps its pods from running is said at once,
// unless the cluster is Available: then it may be a matter of moments that
// nobody notices.
func (r *Reconciler) silence(ctx context.Context, s *scope) (words string, again time.Duration, err error) {
	var since time.Time
	var trouble string
	words = "the control-plane-operator does not run: "
	switch {
	case s.hcp == nil, s.operatorRuns():
		return "", 0, nil
	case s.operator == nil:
		since = s.hcp.CreationTimestamp.Time
		words += fmt.Sprintf("there is no Deployment %s/%s", s.controlPlane, names.ControlPlaneOperator)
	default:
		since = s.operator.CreationTimestamp.Time
		if c := deploymentCondition(s.operator, appsv1.DeploymentAvailable); c != nil {
			since = c.LastTransitionTime.Time
		}
		if trouble, err = r.podTrouble(ctx, s.operator); err != nil {
			return "", 0, err
		}
		words += fmt.Sprintf("Deployment %s/%s: %s", s.controlPlane, s.operator.Name, cmp.Or(trouble, complaint(s.operator)))
	}
	well := meta.IsStatusConditionTrue(s.hc.Status.Conditions, hyperv1.HostedClusterAvailable)
	left := since.Add(startPeriod).Sub(r.Clock.Now())
	switch {
	case left <= 0:
		return words, silentLook, nil
	case well:
		return "", left, nil
	case trouble == "":
		words = ""
	}
	return words, min(left, startLook), nil
}

// podTrouble is what keeps a pod of a Deployment from running, as far as that
// can be seen.
func (r *Reconciler) podTrouble(ctx context.Context, d *appsv1.Deployment) (string, error) {
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

// complaint is the most telling thing that a Deployment says about itself.
func complaint(d *appsv1.Deployment) string {
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
