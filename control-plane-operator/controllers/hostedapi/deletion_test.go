package hostedapi

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestNothingIsKnownOfADeletedControlPlane(t *testing.T) {
	w := deployed(t)
	w.pass()
	r, hcp := w.reconciler, w.hcp(t.Context())
	if !r.doubtful(hcp, answer{problem: &problem{}, silent: true}) || len(r.missed) != 1 || len(r.access.known) != 1 {
		t.Fatalf("%d missing answers and %d kubeconfigs are known, want 1 of both", len(r.missed), len(r.access.known))
	}
	w.must(w.Admin().Delete(t.Context(), hcp))
	_, err := r.controller().Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(hcp)})
	w.must(err)
	if len(r.missed)+len(r.access.known) > 0 {
		t.Errorf("%d missing answers and %d kubeconfigs are known after the control plane was deleted", len(r.missed), len(r.access.known))
	}
}
