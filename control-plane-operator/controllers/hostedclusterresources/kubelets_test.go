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
	e.ExpectConditionText(signed, "Unknown NoNodes: the cluster has no nodes")
	e.join("old", "new")
	e.serves("new")
	e.Once()
	e.ExpectConditionText(signed, "False NodesSelfSigned: the API server does not verify kubelets while nodes old serve with self-signed certificates: nodes of new machines have signed ones")
	e.serves("old")
	e.Once()
	e.ExpectConditionText(signed, "True AsExpected: all kubelets serve with signed certificates")
	// From now on each connection is verified, whatever the nodes report.
	e.status(func(s *hyperv1.HostedControlPlaneStatus) { s.KubeletVerification = hyperv1.KubeletVerificationEnabled })
	e.join("another")
	e.Once()
	e.ExpectConditionText(signed, "True AsExpected: the API server verifies the serving certificates of kubelets")
}

// serves sets the annotation that a node sets when its kubelet has received a certificate.
func (e *hostedCluster) serves(name string) {
	e.T.Helper()
	node := &corev1.Node{}
	e.Must(e.hosted.Admin().Get(e.T.Context(), client.ObjectKey{Name: name}, node))
	node.Annotations = map[string]string{names.ServingCertificateAnnotation: "signed"}
	e.hosted.Update(node)
}
