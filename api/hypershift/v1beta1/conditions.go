package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GetConditions returns the conditions.
func (in *HostedCluster) GetConditions() []metav1.Condition { return in.Status.Conditions }

// SetConditions replaces the conditions.
func (in *HostedCluster) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (in *HostedControlPlane) GetConditions() []metav1.Condition { return in.Status.Conditions }

// SetConditions replaces the conditions.
func (in *HostedControlPlane) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (in *AWSEndpointService) GetConditions() []metav1.Condition { return in.Status.Conditions }

// SetConditions replaces the conditions.
func (in *AWSEndpointService) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (in *NodeBootstrap) GetConditions() []metav1.Condition { return in.Status.Conditions }

// SetConditions replaces the conditions.
func (in *NodeBootstrap) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// GetConditions returns the conditions of the pool, which have a type of their own,
// in the usual form.
func (in *NodePool) GetConditions() []metav1.Condition {
	var conditions []metav1.Condition
	for _, c := range in.Status.Conditions {
		conditions = append(conditions, metav1.Condition{
			Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime, ObservedGeneration: c.ObservedGeneration,
		})
	}
	return conditions
}

// Limits of the fields of a NodePoolCondition, in bytes.
const (
	maxConditionReasonLength  = 1024
	maxConditionMessageLength = 32768
)

// SetConditions replaces the conditions. What is longer than the API allows is cut off.
func (in *NodePool) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = nil
	for _, c := range conditions {
		in.Status.Conditions = append(in.Status.Conditions, NodePoolCondition{
			Type: c.Type, Status: corev1.ConditionStatus(c.Status),
			Reason: truncated(c.Reason, maxConditionReasonLength), Message: truncated(c.Message, maxConditionMessageLength),
			LastTransitionTime: c.LastTransitionTime, ObservedGeneration: c.ObservedGeneration,
		})
	}
}

func truncated(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:most]
}
