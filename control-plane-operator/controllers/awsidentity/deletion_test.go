package awsidentity

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestNothingIsKnownOfADeletedControlPlane(t *testing.T) {
	w := newWorld(t)
	w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
	w.Must(w.start()(t.Context()))
	if n := len(w.reconciler.known); n != 1 {
		t.Fatalf("%d control planes are known, want 1", n)
	}
	hcp := w.hcp()
	w.Must(w.Admin().Get(t.Context(), client.ObjectKeyFromObject(hcp), hcp))
	first := w.reconciler.of(hcp)
	again := hcp.DeepCopy()
	again.UID = "another"
	if w.reconciler.of(again) == first {
		t.Error("a control plane that was created again inherits what was known of the first one")
	}
	w.Must(w.Admin().Delete(t.Context(), hcp))
	_, err := w.reconciler.controller().Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(hcp)})
	w.Must(err)
	if n := len(w.reconciler.known); n != 0 {
		t.Errorf("%d control planes are known after the last one was deleted", n)
	}
}
