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
	e := richTestEnv(t)
	e.Restart()
	pods := func() (trust string, mounted bool) {
		t.Helper()
		d := &appsv1.Deployment{}
		if !e.Has(d, names.ControlPlaneOperator) {
			t.Fatal("there is no control-plane-operator")
		}
		pod := d.Spec.Template
		return pod.Annotations[trustAnnotation], slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.ConfigMap != nil && v.ConfigMap.Name == names.UserCABundle
		})
	}
	e.Run(1)
	first, mounted := pods()
	if first == "" || !mounted {
		t.Fatalf("the first pods have %q, mounted: %v", first, mounted)
	}
	e.Run(2)
	if again, _ := pods(); again != first {
		t.Error("the pods are replaced although nothing has changed")
	}
	e.Put(bundle("my-bundle", someBundle()+someBundle()))
	e.Run(1)
	second, _ := pods()
	if second == first {
		t.Error("the pods do not take up another bundle")
	}
	e.Put(bundle("my-bundle", "nothing"))
	e.Run(1)
	if broken, mounted := pods(); broken != second || !mounted {
		t.Error("a bundle that cannot be used takes the place of one that can")
	}
	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.AdditionalTrustBundle = nil })
	e.Run(2)
	if none, mounted := pods(); none != "" || mounted {
		t.Errorf("without one the pods have %q, mounted: %v", none, mounted)
	}
}
