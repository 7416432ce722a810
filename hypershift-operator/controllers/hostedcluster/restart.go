package hostedcluster

import (
	"cmp"
	"maps"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// restartDate is what the user last asked for. The control plane remembers it
// when the annotation is taken away: that is no reason to restart once more.
func (s *scope) restartDate() string {
	date := s.hc.Annotations[hyperv1.RestartDateAnnotation]
	if s.hcp != nil {
		date = cmp.Or(date, s.hcp.Annotations[hyperv1.RestartDateAnnotation])
	}
	return date
}

// podAnnotations are on every pod that this operator runs for the control plane.
func (s *scope) podAnnotations() map[string]string {
	annotations := map[string]string{hyperv1.RestartDateAnnotation: s.restartDate(), trustAnnotation: s.trust}
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" })
	return annotations
}
