package hostedclusterresources

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ownedConditions are the conditions that this controller writes.
var ownedConditions = []string{hyperv1.ConfigOperatorReconciliationSucceeded, hyperv1.CloudResourcesDestroyed, hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable, hyperv1.KubeletServingCertificatesSigned, hyperv1.EndpointAccessUpToDate, hyperv1.PodNetworkInstalled, hyperv1.AutoNodeEnabled}

// statusPart has the fields of the status that this controller writes.
type statusPart struct {
	NodeCount               *int32                       `json:"nodeCount,omitempty"`
	AutoNode                *hyperv1.AutoNodeStatus      `json:"autoNode,omitempty"`
	RemainingCloudResources []hyperv1.LeftBehindResource `json:"remainingCloudResources,omitempty"`
	NodeAccess              *hyperv1.NodeAccessRecord    `json:"nodeAccess,omitempty"`
}

// classifier is for errors of API servers. A missing answer is no evidence about the
// hosted cluster.
var classifier = reconcile.Classifier{
	Transient: func(err error) bool {
		var status apierrors.APIStatus
		return !errors.As(err, &status)
	},
	Reason:  func(error) string { return hyperv1.ReconcileErrorReason },
	Message: func(err error) string { return err.Error() },
}

// summary is the condition about the objects in the hosted cluster, or, at the end, the
// one about what has to be removed from it. As long as it is unknown what there is to
// remove, the hypershift-operator reports that.
func summary(s *scope) string {
	switch {
	case !s.cleaning():
		return hyperv1.ConfigOperatorReconciliationSucceeded
	case s.cloud != nil:
		return hyperv1.CloudResourcesDestroyed
	}
	return ""
}
