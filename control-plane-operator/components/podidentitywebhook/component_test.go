package podidentitywebhook

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
)

func TestGolden(t *testing.T) {
	targettest.Golden(t, Component, targettest.Single, targettest.HighlyAvailable)
}

func TestComponentRunsOnlyOnAWS(t *testing.T) {
	env := targettest.Env()
	if !Component.Wanted(env) {
		t.Error("a cluster on AWS without nodes has no webhook")
	}
	env.HCP.Spec.Platform.AWS = nil
	if Component.Wanted(env) {
		t.Error("a cluster outside of AWS has the webhook")
	}
}
