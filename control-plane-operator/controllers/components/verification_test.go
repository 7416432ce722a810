package components

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// verifies returns whether the deployed API server verifies kubelets.
func (w *testEnv) verifies() bool {
	w.t.Helper()
	d := &appsv1.Deployment{}
	w.must(w.Admin().Get(w.t.Context(), w.key(names.KubeAPIServer), d))
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, "--kubelet-certificate-authority=") })
}

// nodes sets the report of the hostedclusterresources controller.
func (w *testEnv) nodes(count int32, signed metav1.ConditionStatus) {
	w.t.Helper()
	hcp := w.hcp(w.t.Context())
	hcp.Status.NodeCount = ptr.To(count)
	reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: hyperv1.KubeletServingCertificatesSigned, Status: signed}, w.clock.Now())
	w.must(w.Admin().Status().Update(w.t.Context(), hcp))
}

// Otherwise kube-apiserver would be rolled out twice.
func TestNewClusterVerifiesKubeletsFromTheFirstPod(t *testing.T) {
	w := newTestEnv(t, controlPlane(hyperv1.SingleReplica))
	w.watch(func() {
		if d := (&appsv1.Deployment{}); w.Admin().Get(t.Context(), w.key(names.KubeAPIServer), d) == nil && !w.verifies() {
			t.Error("there is an API server that does not verify kubelets")
		}
	})
	w.nodes(1, metav1.ConditionFalse) // only the node with the invalid certificate is affected
	w.settle()
	if !w.verifies() || w.hcp(t.Context()).Status.KubeletVerification != hyperv1.KubeletVerificationEnabled {
		t.Error("the first node ends the verification of all")
	}
}

func TestExistingClusterVerifiesKubeletsWhenAllHaveCertificates(t *testing.T) {
	w := newTestEnv(t, controlPlane(hyperv1.SingleReplica))
	w.nodes(3, metav1.ConditionFalse)
	w.settle()
	if w.verifies() {
		t.Fatal("the logs of nodes of before cannot be read any more")
	}
	w.nodes(3, metav1.ConditionUnknown)
	if w.settle(); w.verifies() {
		t.Fatal("verifies nodes of which nothing is known")
	}
	w.nodes(3, metav1.ConditionTrue)
	if w.settle(); !w.verifies() {
		t.Fatal("does not verify nodes that all have certificates")
	}
	w.nodes(3, metav1.ConditionFalse)
	if w.settle(); !w.verifies() {
		t.Error("a node without a certificate ends the verification of all")
	}
}
