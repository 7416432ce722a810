package hostedcluster

import (
	"cmp"

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
	date := s.restartDate()
	if date == "" {
		return nil
	}
	return map[string]string{hyperv1.RestartDateAnnotation: date}
}
