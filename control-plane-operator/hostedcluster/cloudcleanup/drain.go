package cloudcleanup

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

// Nodes are the nodes on demand that remain after spec.autoNode was removed.
type Nodes struct {
	// Gone is true if there are none, and no NodePool that would create them again.
	Gone      bool
	remaining []string
}

// Drain deletes the nodes on demand after spec.autoNode was removed, with the NodePools that would create them again. Karpenter
// drains each node.
func Drain(ctx context.Context, hosted client.Client) (Nodes, error) {
	found := &Resources{}
	if err := found.listNodes(ctx, hosted); err != nil || found.Empty() {
		return Nodes{Gone: err == nil}, err
	}
	if err := found.removeNodes(ctx, hosted, true); err != nil {
		return Nodes{}, err
	}
	var nodes Nodes
	for _, l := range found.leftovers() {
		nodes.remaining = append(nodes.remaining, l.String())
	}
	return nodes, nil
}

// Condition returns the status, the reason and the message of the condition AutoNodeEnabled while nodes remain.
func (n Nodes) Condition() metav1.Condition {
	return metav1.Condition{
		Status: metav1.ConditionFalse, Reason: hyperv1.CloudResourcesRemainingReason,
		Message: "spec.autoNode was removed: waiting until Karpenter has drained and removed " + cmp.Or(oneline.List(n.remaining, maxListed), "the NodePools"),
	}
}
