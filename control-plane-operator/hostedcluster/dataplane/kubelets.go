package dataplane

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

// Kubelets is how kubelets serve.
type Kubelets struct {
	// Verified is true if the API server verifies their certificates (package components) on each connection. Then the nodes are
	// not read.
	Verified bool
	// Nodes is the number of nodes, and SelfSigned names the nodes without a certificate that the cluster has signed.
	Nodes      int
	SelfSigned []string
}

// ReadKubelets reads the annotations of nodes, as long as kubelets are not verified.
func ReadKubelets(ctx context.Context, hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster) (Kubelets, error) {
	if hcp.Status.KubeletVerification == hyperv1.KubeletVerificationEnabled {
		return Kubelets{Verified: true}, nil
	}
	list := connection.Nodes()
	if err := cluster.Client.List(ctx, list); err != nil {
		return Kubelets{}, fmt.Errorf("reading the serving certificates of nodes: %w", err)
	}
	k := Kubelets{Nodes: len(list.Items)}
	for _, node := range list.Items {
		if node.Annotations[names.ServingCertificateAnnotation] == "" {
			k.SelfSigned = append(k.SelfSigned, node.Name)
		}
	}
	return k, nil
}

// maxListed is the largest number of nodes in a message.
const maxListed = 10

// Condition returns the status, the reason and the message of the condition KubeletServingCertificatesSigned.
func (k Kubelets) Condition() metav1.Condition {
	c := metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason}
	switch {
	case k.Verified:
		c.Message = "the API server verifies the serving certificates of kubelets"
	case k.Nodes == 0:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, hyperv1.NoNodesReason, "the cluster has no nodes"
	case len(k.SelfSigned) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, hyperv1.NodesSelfSignedReason
		c.Message = fmt.Sprintf("the API server does not verify kubelets while nodes %s serve with self-signed certificates: nodes of new machines have signed ones", oneline.List(k.SelfSigned, maxListed))
	default:
		c.Message = "all kubelets serve with signed certificates"
	}
	return c
}
