package hostedclusterresources

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkKubelets reports whether every kubelet serves with a certificate that the hosted cluster has signed. From then on
// the API server verifies kubelets (see package components) on each connection, and the nodes are no longer read.
func (r *Reconciler) checkKubelets(ctx context.Context, s *scope) error {
	c := metav1.Condition{
		Type: hyperv1.KubeletServingCertificatesSigned, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, ObservedGeneration: s.hcp.Generation,
		Message: "the API server verifies the serving certificates of kubelets",
	}
	if s.hcp.Status.KubeletVerification != hyperv1.KubeletVerificationEnabled {
		if err := unverified(ctx, s, &c); err != nil {
			return err
		}
	}
	reconcile.SetCondition(&s.hcp.Status.Conditions, c, r.Clock.Now())
	return nil
}

// unverified sets the condition from the nodes' annotations as long as kubelets are not verified.
func unverified(ctx context.Context, s *scope, c *metav1.Condition) error {
	list := metadata("NodeList")
	if err := s.hosted.client.List(ctx, list); err != nil {
		return fmt.Errorf("reading the serving certificates of nodes: %w", err)
	}
	var without []string
	for _, node := range list.Items {
		if node.Annotations[names.ServingCertificateAnnotation] == "" {
			without = append(without, node.Name)
		}
	}
	switch {
	case len(list.Items) == 0:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, hyperv1.NoNodesReason, "the cluster has no nodes"
	case len(without) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, hyperv1.NodesSelfSignedReason
		c.Message = fmt.Sprintf("the API server does not verify kubelets while nodes %s serve with self-signed certificates: nodes of new machines have signed ones", summarize(without))
	default:
		c.Message = "all kubelets serve with signed certificates"
	}
	return nil
}
