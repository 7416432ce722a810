package kubescheduler

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/component/componenttest"
)

func TestGolden(t *testing.T) {
	componenttest.Golden(t, Component, componenttest.Single, componenttest.HighlyAvailable,
		chosen("few-full-nodes", configv1.HighNodeUtilization),
		chosen("no-scoring", configv1.NoScoring),
	)
}

func chosen(name string, profile configv1.SchedulerProfile) componenttest.Case {
	return componenttest.Case{Name: name, Adapt: func(env *component.Env) {
		env.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{Scheduler: &configv1.SchedulerSpec{Profile: profile}}
	}}
}

func TestDefaultProfileIsOmitted(t *testing.T) {
	for _, p := range []configv1.SchedulerProfile{"", configv1.LowNodeUtilization} {
		if got := profiles(p); got != nil {
			t.Errorf("%q has %v", p, got)
		}
	}
}

// The API server must have the same features.
func TestFeatureGatesMatchTheAPIServer(t *testing.T) {
	componenttest.Features(t, Component)
}
