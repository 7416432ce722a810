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
func (e *hostedCluster) withPodNetwork(image string) {
	components := map[string]string{"coredns": "registry/coredns:1"}
	if image != "" {
		components[podnetwork.Image] = image
	}
	e.releases.Put(&release.Release{Image: oldImage, Version: "1.35.4", Components: components})
}

// podNetwork returns the image of the pod network in the hosted cluster, or "" if it is not installed.
func (e *hostedCluster) podNetwork() string {
	ds := &appsv1.DaemonSet{}
	if !e.inside(metav1.NamespaceSystem, podnetwork.Image, ds) {
		return ""
	}
	return ds.Spec.Template.Spec.Containers[0].Image
}

func (e *hostedCluster) expectPodNetwork(image, condition string) {
	e.T.Helper()
	if got := e.podNetwork(); got != image {
		e.T.Errorf("the pod network is %q, want %q", got, image)
	}
	got := e.ConditionText(hyperv1.PodNetworkInstalled)
	if !strings.HasPrefix(got, condition) {
		e.T.Errorf("the condition is %q, want %q", got, condition)
	}
}

// readyNode creates a Node in the hosted cluster that is ready.
func (e *hostedCluster) readyNode(name string) {
	e.T.Helper()
	e.Must(e.hosted.Admin().Create(e.T.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}))
}

func TestPodNetworkFollowsTheRelease(t *testing.T) {
	e := newHostedCluster(t)
	e.withPodNetwork("registry/flannel:1")
	e.reconcileAll()
	e.expectPodNetwork("registry/flannel:1", "True AsExpected: ")
	if !strings.Contains(e.ConditionText(hyperv1.PodNetworkInstalled), "does not enforce NetworkPolicies") {
		t.Error("the condition does not report that NetworkPolicies are not enforced")
	}
	e.readyNode("a")
	e.withPodNetwork("registry/flannel:2")
	e.Clock.Step(2 * interval)
	e.Once()
	e.expectPodNetwork("registry/flannel:2", "True AsExpected: ")
	e.hosted.Delete(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: podnetwork.Image}})
	e.Restart() // a new process, without observations
	e.Once()
	e.expectPodNetwork("registry/flannel:2", "True AsExpected: ")
}

func TestPodNetworkIsNotRemovedWithItsImage(t *testing.T) {
	e := newHostedCluster(t)
	e.withPodNetwork("registry/flannel:1")
	e.reconcileAll()
	e.withPodNetwork("")
	e.reconcileLater()
	e.expectPodNetwork("registry/flannel:1", "False NoPodNetworkInRelease: release 1.35.4 has no image flannel")
}

func TestPodNetworkOfTheUser(t *testing.T) {
	for _, networkType := range []hyperv1.NetworkType{hyperv1.Other, hyperv1.Calico} {
		t.Run(string(networkType), func(t *testing.T) {
			e := newHostedCluster(t)
			e.withPodNetwork("registry/flannel:1")
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Networking.NetworkType = networkType })
			e.reconcileAll()
			e.expectPodNetwork("", "nothing")
			if e.inside("", "hypershift:flannel", &rbacv1.ClusterRole{}) {
				t.Error("flannel has permissions")
			}
		})
	}
}

func TestPodNetworkIsNotInstalledBesideAnother(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	e.expectPodNetwork("", "False NoPodNetworkInRelease: ")
	e.readyNode("a")
	e.withPodNetwork("registry/flannel:1")
	e.Clock.Step(2 * interval)
	e.Once()
	e.expectPodNetwork("", "False OtherPodNetwork: ")
	e.hosted.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	e.reconcileLater()
	e.expectPodNetwork("registry/flannel:1", "True AsExpected: ")
}

func TestPodNetworkThatTheUserHasTakenOver(t *testing.T) {
	e := newHostedCluster(t)
	e.withPodNetwork("registry/flannel:1")
	e.reconcileAll()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations = map[string]string{hyperv1.PodNetworkAnnotation: hyperv1.PodNetworkUnmanaged}
	})
	e.withPodNetwork("registry/flannel:2")
	e.reconcileLater()
	e.expectPodNetwork("registry/flannel:1", "True PodNetworkUnmanaged: ")
	e.Must(client.IgnoreNotFound(e.hosted.Admin().Delete(t.Context(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: podnetwork.Image}})))
	e.reconcileLater()
	e.expectPodNetwork("", "True PodNetworkUnmanaged: ")
}

func TestPodNetworkWithoutRoomForNodes(t *testing.T) {
	e := newHostedCluster(t)
	e.withPodNetwork("registry/flannel:1")
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/26"}}
	})
	e.reconcileAll()
	e.expectPodNetwork("", "nothing")
	if got := e.ConditionText(hyperv1.ConfigOperatorReconciliationSucceeded); !strings.Contains(got, "no room for a node") {
		t.Errorf("the condition is %q", got)
	}
}
