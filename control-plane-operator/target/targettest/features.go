package targettest

import (
	"slices"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// Features checks that the first container of the component's Deployment gets the feature gates of its cluster.
func Features(t *testing.T, c component.Component[*target.ControlPlane]) {
	t.Helper()
	env := Env()
	env.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{FeatureGate: &configv1.FeatureGateSpec{FeatureGateSelection: configv1.FeatureGateSelection{
		FeatureSet: configv1.CustomNoUpgrade, CustomNoUpgrade: &configv1.CustomFeatureGates{Enabled: []configv1.FeatureGateName{"HPAScaleToZero"}},
	}}}
	objs, err := component.Render(c, env)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objs {
		d, ok := obj.(*appsv1.Deployment)
		if !ok {
			continue
		}
		if args := d.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--feature-gates=HPAScaleToZero=true") {
			t.Errorf("%s runs with %v", c.Name, args)
		}
		return
	}
	t.Errorf("%s has no Deployment", c.Name)
}
