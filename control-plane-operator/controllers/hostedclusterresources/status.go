package hostedclusterresources

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/dataplane"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/imageregistry"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/ingress"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A verdict is the action on a condition.
type verdict int

const (
	keep verdict = iota
	set
	remove
)

// evaluations are the conditions of single steps: pure functions of the facts that the steps have found out.
var evaluations = []struct {
	condition string
	evaluate  func(*hyperv1.HostedControlPlane, facts) (metav1.Condition, verdict)
}{
	{hyperv1.EndpointAccessUpToDate, func(hcp *hyperv1.HostedControlPlane, f facts) (metav1.Condition, verdict) {
		if f.access != nil {
			if c, changes := f.access.Condition(hcp); changes {
				return c, set
			}
		}
		return metav1.Condition{}, keep
	}},
	{hyperv1.DataPlaneConnectionAvailable, func(_ *hyperv1.HostedControlPlane, f facts) (metav1.Condition, verdict) {
		return setFrom(f.connection, dataplane.Connection.ToNodes)
	}},
	{hyperv1.ControlPlaneConnectionAvailable, func(_ *hyperv1.HostedControlPlane, f facts) (metav1.Condition, verdict) {
		return setFrom(f.connection, dataplane.Connection.FromNodes)
	}},
	{hyperv1.KubeletServingCertificatesSigned, func(_ *hyperv1.HostedControlPlane, f facts) (metav1.Condition, verdict) {
		return setFrom(f.kubelets, dataplane.Kubelets.Condition)
	}},
	{hyperv1.PodNetworkInstalled, func(hcp *hyperv1.HostedControlPlane, f facts) (metav1.Condition, verdict) {
		if !hcp.Spec.Networking.UsesPodNetworkOfRelease() {
			return metav1.Condition{}, remove
		}
		return setFrom(f.podNetwork, objects.PodNetwork.Condition)
	}},
	{hyperv1.IngressAvailable, func(hcp *hyperv1.HostedControlPlane, f facts) (metav1.Condition, verdict) {
		if !hcp.HasIngress() {
			return metav1.Condition{}, remove
		}
		return setFrom(f.ingress, func(f ingress.Facts) metav1.Condition { return f.Condition(hcp) })
	}},
	{hyperv1.AdditionalPullSecretMerged, func(_ *hyperv1.HostedControlPlane, f facts) (metav1.Condition, verdict) {
		if f.additionalKnown && f.additional == nil {
			return metav1.Condition{}, remove
		}
		return setFrom(f.additional, func(a objects.AdditionalPullSecret) metav1.Condition { return a.Condition() })
	}},
	{hyperv1.ImageRegistryAvailable, func(hcp *hyperv1.HostedControlPlane, f facts) (metav1.Condition, verdict) {
		if !hcp.HasImageRegistry() {
			return metav1.Condition{}, remove
		}
		return setFrom(f.registry, func(f imageregistry.Facts) metav1.Condition { return f.Condition(hcp) })
	}},
	{hyperv1.AutoNodeEnabled, func(hcp *hyperv1.HostedControlPlane, f facts) (metav1.Condition, verdict) {
		switch {
		case f.drained != nil && f.drained.Gone:
			return metav1.Condition{}, remove
		case f.drained != nil:
			return f.drained.Condition(), set
		case f.autoNode != nil:
			return f.autoNode.Condition(hcp), set
		case hcp.Spec.AutoNode.Karpenter() == nil && hcp.Annotations[hyperv1.AutoNodeRemovedAnnotation] != yes:
			return metav1.Condition{}, remove
		}
		return metav1.Condition{}, keep
	}},
}

// setFrom sets a condition from a fact, or keeps it if the fact is not known.
func setFrom[Fact any](fact *Fact, condition func(Fact) metav1.Condition) (metav1.Condition, verdict) {
	if fact == nil {
		return metav1.Condition{}, keep
	}
	return condition(*fact), set
}

// report sets the conditions of single steps.
func report(s *scope, outcomes reconcile.Report, conditions *reconcile.Conditions) {
	if s.hcp.Sleeps() && !s.emptying() {
		if !s.hcp.HasIngress() {
			conditions.Remove(hyperv1.IngressAvailable)
		}
		if !s.hcp.HasImageRegistry() {
			conditions.Remove(hyperv1.ImageRegistryAvailable)
		}
		for _, condition := range []string{hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable, hyperv1.IngressAvailable, hyperv1.ImageRegistryAvailable} {
			if conditions.Get(condition) != nil {
				conditions.Set(condition, metav1.ConditionUnknown, hyperv1.AsleepReason, component.Asleep)
			}
		}
		return
	}
	for _, e := range evaluations {
		switch c, verdict := e.evaluate(s.hcp, s.facts); verdict {
		case set:
			conditions.Set(e.condition, c.Status, c.Reason, c.Message)
		case remove:
			conditions.Remove(e.condition)
		}
	}
	if s.cluster != nil {
		objects.InvalidatePermissions(s.cluster, outcomes)
	}
}

// ownedConditions are the conditions that this controller writes.
var ownedConditions = []string{hyperv1.ConfigOperatorReconciliationSucceeded, hyperv1.CloudResourcesDestroyed, hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable, hyperv1.KubeletServingCertificatesSigned, hyperv1.EndpointAccessUpToDate, hyperv1.PodNetworkInstalled, hyperv1.AdditionalPullSecretMerged, hyperv1.IngressAvailable, hyperv1.ImageRegistryAvailable, hyperv1.AutoNodeEnabled}

// statusPart holds the status fields that this controller writes.
type statusPart struct {
	NodeCount               *int32                       `json:"nodeCount,omitempty"`
	AutoNode                *hyperv1.AutoNodeStatus      `json:"autoNode,omitempty"`
	Ingress                 *hyperv1.IngressStatus       `json:"ingress,omitempty"`
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

// summary is the condition about the objects in the hosted cluster, or, during deletion, the condition about the cloud resources to remove.
// As long as the cloud resources are unknown, the hypershift-operator reports that.
func summary(s *scope) string {
	switch {
	case !s.emptying() && s.hcp.Sleeps():
		return ""
	case !s.emptying():
		return hyperv1.ConfigOperatorReconciliationSucceeded
	case s.cloud != nil:
		return hyperv1.CloudResourcesDestroyed
	}
	return ""
}
