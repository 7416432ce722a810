package kubescheduler

import (
	"slices"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"

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

func TestToSpreadTheLoadNeedsNoProfile(t *testing.T) {
	for _, p := range []configv1.SchedulerProfile{"", configv1.LowNodeUtilization} {
		if got := profiles(p); got != nil {
			t.Errorf("%q has %v", p, got)
		}
	}
}

// Half a feature is a fault: what the API server has on, this has on too.
func TestFeaturesAreThoseOfTheAPIServer(t *testing.T) {
	env := componenttest.Env()
	env.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{FeatureGate: &configv1.FeatureGateSpec{FeatureGateSelection: configv1.FeatureGateSelection{
		FeatureSet: configv1.CustomNoUpgrade, CustomNoUpgrade: &configv1.CustomFeatureGates{Enabled: []configv1.FeatureGateName{"HPAScaleToZero"}},
	}}}
	objs, err := component.Render(Component, env)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objs {
		if d, ok := obj.(*appsv1.Deployment); ok && !slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--feature-gates=HPAScaleToZero=true") {
			t.Errorf("it runs with %v", d.Spec.Template.Spec.Containers[0].Args)
		}
	}
}
