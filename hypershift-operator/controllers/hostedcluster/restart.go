package hostedcluster

import (
	"cmp"
	"maps"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

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

// podAnnotations returns the annotations of every pod that this operator runs for
// the control plane.
func (s *scope) podAnnotations() map[string]string {
	annotations := map[string]string{hyperv1.RestartDateAnnotation: s.restartDate(), trustAnnotation: s.trust}
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" })
	return annotations
}

// trustAnnotation changes with the user's certificate authorities, which programs
// read at their start.
const trustAnnotation = "hypershift.openshift.io/additional-trust-bundle"
