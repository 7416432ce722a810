package hostedclusterresources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func TestNodesWithSelfSignedCertificatesAreListed(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	const signed = hyperv1.KubeletServingCertificatesSigned
	e.expectCondition(signed, "Unknown NoNodes: the cluster has no nodes")
	e.join("old", "new")
	e.serves("new")
	e.reconcileOnce()
	e.expectCondition(signed, "False NodesSelfSigned: the API server does not verify kubelets while nodes old serve with self-signed certificates: nodes of new machines have signed ones")
	e.serves("old")
	e.reconcileOnce()
	e.expectCondition(signed, "True AsExpected: all kubelets serve with signed certificates")
	// From now on each connection is verified, whatever the nodes report.
	e.status(func(s *hyperv1.HostedControlPlaneStatus) { s.KubeletVerification = hyperv1.KubeletVerificationEnabled })
	e.join("another")
	e.reconcileOnce()
	e.expectCondition(signed, "True AsExpected: the API server verifies the serving certificates of kubelets")
}

// serves sets the annotation that a node sets when its kubelet has received a certificate.
func (e *hostedCluster) serves(name string) {
	e.t.Helper()
	node := &corev1.Node{}
	e.must(e.hosted.Admin().Get(e.t.Context(), client.ObjectKey{Name: name}, node))
	node.Annotations = map[string]string{names.ServingCertificateAnnotation: "signed"}
	e.must(e.hosted.Admin().Update(e.t.Context(), node))
}
