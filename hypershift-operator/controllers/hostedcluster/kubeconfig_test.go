package hostedcluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// handsOut lets the control plane have a Secret for the user.
func (w *world) handsOut(t *testing.T, edit func(*hyperv1.HostedControlPlaneStatus)) {
	t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !w.exists(t, hcp, w.object("demo")) {
		t.Fatal("there is no control plane")
	}
	edit(&hcp.Status)
	if err := w.Admin().Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
}

func TestTheUserGetsTheKubeconfig(t *testing.T) {
	w := newWorld(t)
	pass := w.start()
	w.run(t, pass, 2)
	w.Create(t, secret(plane, "admin-kubeconfig", map[string]string{"value": "one"}), secret(plane, "first-user", map[string]string{"password": "two"}))
	w.handsOut(t, func(st *hyperv1.HostedControlPlaneStatus) {
		st.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "value"}
		st.KubeadminPassword = &corev1.LocalObjectReference{Name: "first-user"}
	})
	w.run(t, pass, 1)
	hc, err := w.get(t.Context())
	if err != nil || hc.Status.KubeConfig == nil || hc.Status.KubeConfig.Name != "demo-admin-kubeconfig" || hc.Status.KubeadminPassword == nil || hc.Status.CustomKubeconfig != nil {
		t.Fatalf("the status names %v and %v, error %v", hc.Status.KubeConfig, hc.Status.KubeadminPassword, err)
	}
	mine := &corev1.Secret{}
	if !w.exists(t, mine, client.ObjectKey{Namespace: "clusters", Name: "demo-admin-kubeconfig"}) || string(mine.Data["kubeconfig"]) != "one" || !metav1.IsControlledBy(mine, hc) {
		t.Errorf("got %+v", mine)
	}
	if !w.exists(t, mine, client.ObjectKey{Namespace: "clusters", Name: "demo-kubeadmin-password"}) || string(mine.Data["password"]) != "two" {
		t.Errorf("got %+v", mine)
	}
	w.handsOut(t, func(st *hyperv1.HostedControlPlaneStatus) { st.KubeadminPassword = nil })
	w.run(t, pass, 1)
	if hc, err = w.get(t.Context()); err != nil || hc.Status.KubeadminPassword != nil || hc.Status.KubeConfig == nil {
		t.Errorf("the status names %v and %v, error %v", hc.Status.KubeConfig, hc.Status.KubeadminPassword, err)
	}
	if w.exists(t, mine, client.ObjectKey{Namespace: "clusters", Name: "demo-kubeadmin-password"}) {
		t.Error("a password that the control plane does not have any more is still there")
	}
}
