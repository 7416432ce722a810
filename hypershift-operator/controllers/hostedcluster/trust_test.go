package hostedcluster

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func TestTheControlPlaneOperatorTrustsTheUsersAuthorities(t *testing.T) {
	w := richTestEnv(t)
	pass := w.start()
	pods := func() (trust string, mounted bool) {
		t.Helper()
		d := &appsv1.Deployment{}
		if !w.exists(t, d, w.object(names.ControlPlaneOperator)) {
			t.Fatal("there is no control-plane-operator")
		}
		pod := d.Spec.Template
		return pod.Annotations[trustAnnotation], slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.ConfigMap != nil && v.ConfigMap.Name == names.UserCABundle
		})
	}
	w.run(t, pass, 1)
	first, mounted := pods()
	if first == "" || !mounted {
		t.Fatalf("the first pods have %q, mounted: %v", first, mounted)
	}
	w.run(t, pass, 2)
	if again, _ := pods(); again != first {
		t.Error("the pods are replaced although nothing has changed")
	}
	w.put(t, bundle("my-bundle", someBundle()+someBundle()))
	w.run(t, pass, 1)
	second, _ := pods()
	if second == first {
		t.Error("the pods do not take up another bundle")
	}
	w.put(t, bundle("my-bundle", "nothing"))
	w.run(t, pass, 1)
	if broken, mounted := pods(); broken != second || !mounted {
		t.Error("a bundle that cannot be used takes the place of one that can")
	}
	w.change(t, func(hc *hyperv1.HostedCluster) { hc.Spec.AdditionalTrustBundle = nil })
	w.run(t, pass, 2)
	if none, mounted := pods(); none != "" || mounted {
		t.Errorf("without one the pods have %q, mounted: %v", none, mounted)
	}
}
