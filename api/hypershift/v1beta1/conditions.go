package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GetConditions returns the conditions.
func (c *HostedCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *HostedCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (c *HostedControlPlane) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *HostedControlPlane) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (s *AWSEndpointService) GetConditions() []metav1.Condition { return s.Status.Conditions }

// SetConditions replaces the conditions.
func (s *AWSEndpointService) SetConditions(conditions []metav1.Condition) {
	s.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (b *NodeBootstrap) GetConditions() []metav1.Condition { return b.Status.Conditions }

// SetConditions replaces the conditions.
func (b *NodeBootstrap) SetConditions(conditions []metav1.Condition) {
	b.Status.Conditions = conditions
}

// GetConditions returns the conditions of the pool, which have a type of their own,
// in the usual form.
func (p *NodePool) GetConditions() []metav1.Condition {
	var conditions []metav1.Condition
	for _, c := range p.Status.Conditions {
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
func (p *NodePool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = nil
	for _, c := range conditions {
		p.Status.Conditions = append(p.Status.Conditions, NodePoolCondition{
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
