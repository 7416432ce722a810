package hostedcluster

import (
	"cmp"
	"maps"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// podSettings returns the settings of every pod that this operator runs for the control plane.
func (s *scope) podSettings() controlplane.PodSettings {
	return controlplane.PodSettings{
		Labels: s.hc.Spec.Labels, NodeSelector: s.hc.Spec.NodeSelector, Tolerations: s.hc.Spec.Tolerations,
		PriorityClass: cmp.Or(s.hc.Annotations[hyperv1.ControlPlanePriorityClassAnnotation], component.ControlPlanePriority),
		Annotations:   s.podAnnotations(), TrustBundle: s.trust != "", MemoryFactor: s.memoryFactor, MemoryMax: s.memoryMax,
		Requests: s.hc.Annotations,
	}
}

func (s *scope) podAnnotations() map[string]string {
	annotations := map[string]string{hyperv1.RestartDateAnnotation: s.restartDate(), trustAnnotation: s.trust}
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" })
	return annotations
}

// trustAnnotation changes with the user's certificate authorities, which programs
// read at their start.
const trustAnnotation = "hypershift.openshift.io/additional-trust-bundle"

// restartDate is the last date that the user has set. The control plane keeps it
// when the annotation is removed, so that the removal does not cause another
// restart.
func (s *scope) restartDate() string {
	date := s.hc.Annotations[hyperv1.RestartDateAnnotation]
	if s.hcp != nil {
		date = cmp.Or(date, s.hcp.Annotations[hyperv1.RestartDateAnnotation])
	}
	return date
}
