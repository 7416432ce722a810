package autonode

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Condition returns the status, the reason and the message of the condition AutoNodeEnabled.
func (f Facts) Condition(hcp *hyperv1.HostedControlPlane) metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case !f.HasImage:
		return no(hyperv1.MissingReleaseImagesReason, "release %s has no image %s: choose a release that has it, or remove spec.autoNode", f.Release, names.Karpenter)
	case f.Template == nil:
		return no(hyperv1.WaitingForReason, "waiting for the user data of nodes: Secret %s does not exist in namespace %s", names.AutoNode, hcp.Namespace)
	case f.Template.image == "":
		return no(hyperv1.NodePoolImageUnknownReason, "release %s names no machine image for arch amd64 in region %s: choose another release", f.Release, hcp.Spec.Platform.AWS.Region)
	case f.Template.subnets == nil:
		return no(hyperv1.WaitingForReason, "no subnet for nodes is known: set spec.platform.aws.cloudProviderConfig.subnet.id, or create a node pool")
	case f.Template.securityGroup == "":
		return no(hyperv1.WaitingForReason, "waiting for the security group of the workers: see condition %s", hyperv1.AWSDefaultSecurityGroupCreated)
	case !f.Served:
		return no(hyperv1.WaitingForReason, "waiting until the API server serves the kinds of Karpenter")
	case !f.Available:
		return no(hyperv1.WaitingForAvailableReason, "waiting for Deployment %s in namespace %s", names.Karpenter, hcp.Namespace)
	case !f.ClassReady:
		return no(hyperv1.WaitingForAvailableReason, "EC2NodeClass %s of the hosted cluster is not ready: %s", defaultName, f.ClassMessage)
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: reconcile.AllIsWell}
}
