package hostedcluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A need is a condition that has to be True for a cluster to be Available.
type need struct {
	condition string
	// of is true for the clusters that must have the condition; nil for those whose
	// reconciliation is active. False makes any cluster unavailable.
	of func(*hyperv1.HostedCluster) bool
}

func (b *conditionBuilder) needs(n need) bool {
	if n.of == nil {
		return b.active()
	}
	return n.of(b.hc)
}

// needed are the conditions that make a cluster Available, in the order in which a user
// should look at them.
var needed = []need{
	{hyperv1.ValidHostedClusterConfiguration, always},
	{hyperv1.SupportedHostedCluster, always},
	{hyperv1.ValidReleaseImage, nil},
	{hyperv1.ReconciliationSucceeded, nil},
	{hyperv1.PlatformCredentialsFound, onAWS},
	{hyperv1.ValidProxyConfiguration, never},
	{hyperv1.UnmanagedEtcdAvailable, never},
	{hyperv1.ValidOIDCConfiguration, publishesDocuments},
	{hyperv1.ValidAWSIdentityProvider, onAWS},
	{hyperv1.ValidHostedControlPlaneConfiguration, never},
	{hyperv1.InfrastructureReady, always},
	{hyperv1.AWSEndpointServiceAvailable, isPrivate},
	{hyperv1.AWSEndpointAvailable, isPrivate},
	{hyperv1.KubeAPIServerAvailable, always},
	{hyperv1.KubeAPIServerReachable, never}, // Unknown where the management cluster cannot use the load balancer
	{hyperv1.EtcdAvailable, always},
}

// publishesDocuments is false for who brings the signing key, or a server in
// front of our bucket: what we cannot check must not hold the cluster up.
func publishesDocuments(hc *hyperv1.HostedCluster) bool {
	return onAWS(hc) && hc.Spec.ServiceAccountSigningKey == nil && placeOf(hc.Spec.IssuerURL).bucket != ""
}

// available answers the one question that everybody has.
func (b *conditionBuilder) available(s *scope, report reconcile.Report) {
	was := b.Get(hyperv1.HostedClusterAvailable)
	wasUp := was != nil && was.Status != metav1.ConditionFalse // Unknown comes after True only
	switch missing := b.firstMissing(); {
	case s.dying():
		message := "the cluster is being deleted"
		if err := report.Err(); err != nil {
			message += ": " + awsx.Message(err)
		}
		b.Set(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, message)
		b.Set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.DeletingReason, message)
	case missing == nil:
		b.Set(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
		b.Set(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.AsExpectedReason, reconcile.AllIsWell)
		if !wasUp {
			b.turned = "Available"
		}
	case b.behind[missing.Type] && missing.Status == metav1.ConditionTrue && wasUp:
		message := missing.Type + ": the last change has not been looked at yet"
		b.Set(hyperv1.HostedClusterAvailable, metav1.ConditionUnknown, hyperv1.ProgressingReason, message)
		b.Set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, message)
	default:
		message := missing.Type + ": " + missing.Message
		if b.behind[missing.Type] {
			message += " (the last change has not been looked at yet)"
		}
		b.Set(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, missing.Reason, message)
		switch {
		case missing.Type == hyperv1.ValidHostedClusterConfiguration, missing.Type == hyperv1.SupportedHostedCluster, missing.Type == hyperv1.ValidReleaseImage && missing.Status == metav1.ConditionFalse:
			b.Set(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, message)
		default:
			b.Set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, message)
		}
		if wasUp {
			b.turned = "NotAvailable"
		}
	}
}

// rollout says of a cluster that lacks nothing else how it is with its release.
func (b *conditionBuilder) rollout(s *scope) {
	if s.dying() || b.Get(hyperv1.HostedClusterProgressing).Status == metav1.ConditionTrue {
		return
	}
	gate, version := b.Get(hyperv1.ValidReleaseImage), rollingOut(b.hc)
	switch {
	case b.held && gate.Status == metav1.ConditionFalse:
		b.Set(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, gate.Type+": "+gate.Message)
	case b.held && s.images != wantedImages(b.hc):
		b.Set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, gate.Type+": "+gate.Message)
	case version != "" && b.Get(hyperv1.HostedClusterAvailable).Status == metav1.ConditionTrue:
		b.Set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, "version "+version+" is being rolled out")
	}
}

// stopped says that nothing progresses, whatever is missing, because the user
// wants no change.
func (b *conditionBuilder) stopped(s *scope) {
	if c := b.Get(hyperv1.ReconciliationActive); !s.dying() && c.Status == metav1.ConditionFalse {
		b.Set(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, c.Type+": "+c.Message)
	}
}

// firstMissing is the first needed condition that is not True, or that was
// True before the last change and may not be any more.
func (b *conditionBuilder) firstMissing() *metav1.Condition {
	for _, n := range needed {
		c := b.Get(n.condition)
		switch {
		case b.held && n.condition == hyperv1.ValidReleaseImage: // it serves with the release that it has
		case c == nil && b.needs(n):
			return &metav1.Condition{Type: n.condition, Reason: hyperv1.StatusUnknownReason, Message: "waiting for the first health check"}
		case c != nil && b.behind[n.condition] && b.needs(n):
			return c
		case c != nil && c.Status != metav1.ConditionTrue && (b.needs(n) || c.Status == metav1.ConditionFalse):
			return c
		}
	}
	return nil
}
