package hostedclusterresources

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/podnetwork"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// withPodNetwork puts a release with that image of flannel in place of the control plane's release.
func (w *testEnv) withPodNetwork(image string) {
	components := map[string]string{"coredns": "registry/coredns:1"}
	if image != "" {
		components[podnetwork.Image] = image
	}
	w.releases.Put(&release.Release{Image: oldImage, Version: "1.35.4", Components: components})
}

// podNetwork returns the image of the pod network in the hosted cluster, or "" if it is not installed.
func (w *testEnv) podNetwork() string {
	ds := &appsv1.DaemonSet{}
	if !w.inside(metav1.NamespaceSystem, podnetwork.Image, ds) {
		return ""
	}
	return ds.Spec.Template.Spec.Containers[0].Image
}

func (w *testEnv) expectPodNetwork(image, condition string) {
	w.t.Helper()
	if got := w.podNetwork(); got != image {
		w.t.Errorf("the pod network is %q, want %q", got, image)
	}
	got := w.conditionText(hyperv1.PodNetworkInstalled)
	if !strings.HasPrefix(got, condition) {
		w.t.Errorf("the condition is %q, want %q", got, condition)
	}
}

// readyNode creates a Node in the hosted cluster that is ready.
func (w *testEnv) readyNode(name string) {
	w.t.Helper()
	w.must(w.hosted.Admin().Create(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}))
}

func TestPodNetworkFollowsTheRelease(t *testing.T) {
	w := newTestEnv(t)
	w.withPodNetwork("registry/flannel:1")
	w.reconcileAll()
	w.expectPodNetwork("registry/flannel:1", "True AsExpected: ")
	if !strings.Contains(w.conditionText(hyperv1.PodNetworkInstalled), "does not enforce NetworkPolicies") {
		t.Error("the condition does not report that NetworkPolicies are not enforced")
	}
	w.readyNode("a")
	w.withPodNetwork("registry/flannel:2")
	w.clock.Step(2 * interval)
	w.reconcileOnce()
	w.expectPodNetwork("registry/flannel:2", "True AsExpected: ")
	w.must(w.hosted.Admin().Delete(t.Context(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: podnetwork.Image}}))
	w.start() // a new process, without observations
	w.reconcileOnce()
	w.expectPodNetwork("registry/flannel:2", "True AsExpected: ")
}

func TestPodNetworkIsNotRemovedWithItsImage(t *testing.T) {
	w := newTestEnv(t)
	w.withPodNetwork("registry/flannel:1")
	w.reconcileAll()
	w.withPodNetwork("")
	w.reconcileLater()
	w.expectPodNetwork("registry/flannel:1", "False NoPodNetworkInRelease: release 1.35.4 has no image flannel")
}

func TestPodNetworkOfTheUser(t *testing.T) {
	for _, networkType := range []hyperv1.NetworkType{hyperv1.Other, hyperv1.Calico} {
		t.Run(string(networkType), func(t *testing.T) {
			w := newTestEnv(t)
			w.withPodNetwork("registry/flannel:1")
			w.update(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Networking.NetworkType = networkType })
			w.reconcileAll()
			w.expectPodNetwork("", "nothing")
			if w.inside("", "hypershift:flannel", &rbacv1.ClusterRole{}) {
				t.Error("flannel has permissions")
			}
		})
	}
}

func TestPodNetworkIsNotInstalledBesideAnother(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	w.expectPodNetwork("", "False NoPodNetworkInRelease: ")
	w.readyNode("a")
	w.withPodNetwork("registry/flannel:1")
	w.clock.Step(2 * interval)
	w.reconcileOnce()
	w.expectPodNetwork("", "False OtherPodNetwork: ")
	w.must(w.hosted.Admin().Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))
	w.reconcileLater()
	w.expectPodNetwork("registry/flannel:1", "True AsExpected: ")
}

func TestPodNetworkThatTheUserHasTakenOver(t *testing.T) {
	w := newTestEnv(t)
	w.withPodNetwork("registry/flannel:1")
	w.reconcileAll()
	w.update(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations = map[string]string{hyperv1.PodNetworkAnnotation: hyperv1.PodNetworkUnmanaged}
	})
	w.withPodNetwork("registry/flannel:2")
	w.reconcileLater()
	w.expectPodNetwork("registry/flannel:1", "True PodNetworkUnmanaged: ")
	w.must(client.IgnoreNotFound(w.hosted.Admin().Delete(t.Context(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: podnetwork.Image}})))
	w.reconcileLater()
	w.expectPodNetwork("", "True PodNetworkUnmanaged: ")
}

func TestPodNetworkWithoutRoomForNodes(t *testing.T) {
	w := newTestEnv(t)
	w.withPodNetwork("registry/flannel:1")
	w.update(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/26"}}
	})
	w.reconcileAll()
	w.expectPodNetwork("", "nothing")
	if got := w.conditionText(hyperv1.ConfigOperatorReconciliationSucceeded); !strings.Contains(got, "no room for a node") {
		t.Errorf("the condition is %q", got)
	}
}
