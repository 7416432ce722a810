package podrunner

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status is what the Deployment controller of a real cluster would write.
func status(d *appsv1.Deployment, pods []*pod, problem error, now time.Time) appsv1.DeploymentStatus {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	var ready int32
	for _, p := range pods {
		if p.ready() {
			ready++
		}
	}
	s := appsv1.DeploymentStatus{
		ObservedGeneration:  d.Generation,
		Replicas:            int32(len(pods)),
		UpdatedReplicas:     int32(len(pods)),
		ReadyReplicas:       ready,
		AvailableReplicas:   ready,
		UnavailableReplicas: max(0, want-ready),
	}

	available := appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability."}
	if ready < want {
		available.Status, available.Reason, available.Message = corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
	}
	progressing := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", Message: fmt.Sprintf("%d of %d processes are ready.", ready, want)}
	if problem != nil {
		progressing.Status, progressing.Reason, progressing.Message = corev1.ConditionFalse, "FailedCreate", problem.Error()
	}
	s.Conditions = []appsv1.DeploymentCondition{
		since(available, d.Status.Conditions, now),
		since(progressing, d.Status.Conditions, now),
	}
	return s
}

// since keeps the times of a condition that did not change.
func since(c appsv1.DeploymentCondition, before []appsv1.DeploymentCondition, now time.Time) appsv1.DeploymentCondition {
	c.LastUpdateTime, c.LastTransitionTime = metav1.NewTime(now), metav1.NewTime(now)
	for _, b := range before {
		if b.Type != c.Type || b.Status != c.Status {
			continue
		}
		c.LastTransitionTime = b.LastTransitionTime
		if b.Reason == c.Reason && b.Message == c.Message {
			c.LastUpdateTime = b.LastUpdateTime
		}
	}
	return c
}
