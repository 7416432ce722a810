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
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// verifies returns whether the deployed API server verifies kubelets.
func (e *fakeKubelet) verifies() bool {
	e.T.Helper()
	d := testenv.Named(e.Env, names.KubeAPIServer, &appsv1.Deployment{})
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, "--kubelet-certificate-authority=") })
}

// nodes sets the report of the hostedclusterresources controller.
func (e *fakeKubelet) nodes(count int32, signed metav1.ConditionStatus) {
	e.T.Helper()
	hcp := e.HCP()
	hcp.Status.NodeCount = ptr.To(count)
	reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: hyperv1.KubeletServingCertificatesSigned, Status: signed}, e.Clock.Now())
	e.Must(e.Admin().Status().Update(e.T.Context(), hcp))
}

// Otherwise kube-apiserver would be rolled out twice.
func TestNewClusterVerifiesKubeletsFromTheFirstPod(t *testing.T) {
	e := newFakeKubelet(t, controlPlane(hyperv1.SingleReplica))
	e.SettleWith(func() {
		if d := (&appsv1.Deployment{}); e.Has(d, names.KubeAPIServer) && !e.verifies() {
			t.Error("there is an API server that does not verify kubelets")
		}
	})
	e.nodes(1, metav1.ConditionFalse) // only the node with the invalid certificate is affected
	e.Settle()
	if !e.verifies() || e.HCP().Status.KubeletVerification != hyperv1.KubeletVerificationEnabled {
		t.Error("the first node ends the verification of all")
	}
}

func TestExistingClusterVerifiesKubeletsWhenAllHaveCertificates(t *testing.T) {
	e := newFakeKubelet(t, controlPlane(hyperv1.SingleReplica))
	e.nodes(3, metav1.ConditionFalse)
	e.Settle()
	if e.verifies() {
		t.Fatal("the logs of nodes of before cannot be read any more")
	}
	e.nodes(3, metav1.ConditionUnknown)
	if e.Settle(); e.verifies() {
		t.Fatal("verifies nodes of which nothing is known")
	}
	e.nodes(3, metav1.ConditionTrue)
	if e.Settle(); !e.verifies() {
		t.Fatal("does not verify nodes that all have certificates")
	}
	e.nodes(3, metav1.ConditionFalse)
	if e.Settle(); !e.verifies() {
		t.Error("a node without a certificate ends the verification of all")
	}
}
