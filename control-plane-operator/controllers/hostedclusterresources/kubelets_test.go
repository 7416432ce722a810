package hostedclusterresources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func TestNodesWithSelfSignedCertificatesAreListed(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	const signed = hyperv1.KubeletServingCertificatesSigned
	w.expectCondition(signed, "Unknown NoNodes: the cluster has no nodes")
	w.join("old", "new")
	w.serves("new")
	w.reconcileOnce()
	w.expectCondition(signed, "False NodesSelfSigned: the API server does not verify kubelets while nodes old serve with self-signed certificates: nodes of new machines have signed ones")
	w.serves("old")
	w.reconcileOnce()
	w.expectCondition(signed, "True AsExpected: all kubelets serve with signed certificates")
	// From now on each connection is verified, whatever the nodes report.
	w.status(func(s *hyperv1.HostedControlPlaneStatus) { s.KubeletVerification = hyperv1.KubeletVerificationEnabled })
	w.join("another")
	w.reconcileOnce()
	w.expectCondition(signed, "True AsExpected: the API server verifies the serving certificates of kubelets")
}

// serves sets the annotation that a node sets when its kubelet has received a certificate.
func (w *testEnv) serves(name string) {
	w.t.Helper()
	node := &corev1.Node{}
	w.must(w.hosted.Admin().Get(w.t.Context(), client.ObjectKey{Name: name}, node))
	node.Annotations = map[string]string{names.ServingCertificateAnnotation: "signed"}
	w.must(w.hosted.Admin().Update(w.t.Context(), node))
}
