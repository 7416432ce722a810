package hostedapi

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestNothingIsKnownOfADeletedControlPlane(t *testing.T) {
	e := deployed(t)
	e.Later()
	r, hcp := e.reconciler, e.HCP()
	if !r.doubtful(hcp, answer{problem: &problem{}, silent: true}) || len(r.missed) != 1 || len(r.access.known) != 1 {
		t.Fatalf("%d missing answers and %d kubeconfigs are known, want 1 of both", len(r.missed), len(r.access.known))
	}
	e.Must(e.Admin().Delete(t.Context(), hcp))
	_, err := r.controller().Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(hcp)})
	e.Must(err)
	if len(r.missed)+len(r.access.known) > 0 {
		t.Errorf("%d missing answers and %d kubeconfigs are known after the control plane was deleted", len(r.missed), len(r.access.known))
	}
}
