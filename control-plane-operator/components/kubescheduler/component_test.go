package kubescheduler

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
)

func TestGolden(t *testing.T) {
	targettest.Golden(t, Component, targettest.Single, targettest.HighlyAvailable,
		chosen("few-full-nodes", configv1.HighNodeUtilization),
		chosen("no-scoring", configv1.NoScoring),
		withoutResources("without-dynamic-resources", ""),
		withoutResources("no-scoring-without-dynamic-resources", configv1.NoScoring),
	)
}

func chosen(name string, profile configv1.SchedulerProfile) targettest.Case {
	return targettest.Case{Name: name, Adapt: func(env *target.ControlPlane) {
		env.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{Scheduler: &configv1.SchedulerSpec{Profile: profile}}
	}}
}

func withoutResources(name string, profile configv1.SchedulerProfile) targettest.Case {
	c := chosen(name, profile)
	return targettest.Case{Name: name, Adapt: func(env *target.ControlPlane) {
		c.Adapt(env)
		env.HCP.Spec.Configuration.Scheduler.ProfileCustomizations.DynamicResourceAllocation = configv1.DRAEnablementDisabled
	}}
}

func TestDefaultProfileIsOmitted(t *testing.T) {
	for _, p := range []configv1.SchedulerProfile{"", configv1.LowNodeUtilization} {
		if got := profiles(p, configv1.DRAEnablementEnabled); got != nil {
			t.Errorf("%q has %v", p, got)
		}
	}
}

// The API server must have the same features.
func TestFeatureGatesMatchTheAPIServer(t *testing.T) {
	targettest.Features(t, Component)
}
