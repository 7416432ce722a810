package awsidentity

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestNothingIsKnownOfADeletedControlPlane(t *testing.T) {
	e := newFakeIdentityProvider(t)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
	e.Restart()
	e.Once()
	if n := len(e.reconciler.known); n != 1 {
		t.Fatalf("%d control planes are known, want 1", n)
	}
	hcp := e.HCP()
	e.Get(hcp)
	first := e.reconciler.of(hcp)
	again := hcp.DeepCopy()
	again.UID = "another"
	if e.reconciler.of(again) == first {
		t.Error("a control plane that was created again inherits what was known of the first one")
	}
	e.Delete(hcp)
	_, err := e.reconciler.controller().Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(hcp)})
	e.Must(err)
	if n := len(e.reconciler.known); n != 0 {
		t.Errorf("%d control planes are known after the last one was deleted", n)
	}
}
