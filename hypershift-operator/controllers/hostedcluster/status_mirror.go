package hostedcluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// mirrored are the conditions that the HostedControlPlane has and its
// HostedCluster repeats. One that nobody has set is not repeated, unless the
// user should see that it is missing.
var mirrored = []struct {
	condition string
	expected  func(*hyperv1.HostedCluster) bool
}{
	{hyperv1.InfrastructureReady, always},
	{hyperv1.ValidAWSIdentityProvider, onAWS},
	{hyperv1.AWSRolesIsolated, never},
	{hyperv1.EtcdAvailable, never},
	{hyperv1.KubeAPIServerAvailable, never},
	{hyperv1.KubeAPIServerReachable, never},
	{hyperv1.IgnitionEndpointAvailable, never},
	{hyperv1.ExternalDNSReachable, never},
	{hyperv1.ValidHostedControlPlaneConfiguration, never},
	{hyperv1.ValidReleaseInfo, never},
	{hyperv1.ValidIDPConfiguration, never},
	{hyperv1.ValidAWSKMSConfig, never},
	{hyperv1.AWSDefaultSecurityGroupCreated, never},
	{hyperv1.AWSDefaultSecurityGroupDeleted, never},
	{hyperv1.ConfigOperatorReconciliationSucceeded, never},
	{hyperv1.DataPlaneConnectionAvailable, never},
	{hyperv1.KubeletServingCertificatesSigned, never},
	{hyperv1.ControlPlaneConnectionAvailable, never},
	{hyperv1.EtcdDataEncryptionUpToDate, never},
	{hyperv1.EtcdBackupSucceeded, never},
	{hyperv1.HostedClusterRestoredFromBackup, never},
	{hyperv1.ClusterVersionSucceeding, never},
	{hyperv1.ClusterVersionProgressing, never},
	{hyperv1.ClusterVersionReleaseAccepted, never},
	{hyperv1.ClusterVersionRetrievedUpdates, never},
	{hyperv1.ClusterVersionUpgradeable, never},
	{hyperv1.ClusterVersionAvailable, never},
	{hyperv1.HostedClusterDegraded, never},
	{hyperv1.CloudResourcesDestroyed, never},
}

// mirror repeats what the HostedControlPlane says. While the cluster is being
// deleted, the last word of a control plane that is gone stands: whether AWS
// still took our tokens decides what happens to what is left.
func (b *conditionBuilder) mirror(s *scope, report reconcile.Report) {
	if s.hcp == nil && s.dying() {
		return
	}
	for _, m := range mirrored {
		var said *metav1.Condition
		if s.hcp != nil {
			said = meta.FindStatusCondition(s.hcp.Status.Conditions, m.condition)
		}
		switch {
		case m.condition == hyperv1.CloudResourcesDestroyed && leftBehind(b.Get(m.condition)):
			// It stands until the cluster is gone: nobody will take the rest away.
			if c := b.Get(m.condition); takenOver(c, s.hcp) == "" {
				b.Remove(m.condition)
			} else {
				b.Set(m.condition, c.Status, c.Reason, takenOver(c, s.hcp))
			}
		case s.silence != "" && (said != nil || m.expected(b.hc)):
			b.Set(m.condition, metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, s.silence)
		case said == nil && report.Unverified(m.condition):
			// A step has just said why nobody knows.
		case said != nil && !(s.told && said.ObservedGeneration >= s.hcp.Generation):
			b.repeat(m.condition, said)
			b.behind[m.condition] = !s.paused
		case said != nil:
			b.Set(m.condition, said.Status, said.Reason, said.Message)
		case m.expected(b.hc):
			b.Set(m.condition, metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "the control-plane-operator has not said yet")
		default:
			b.Remove(m.condition)
		}
	}
}

// repeat takes over what was said about an earlier generation, and does not
// claim that it is about this one.
func (b *conditionBuilder) repeat(condition string, said *metav1.Condition) {
	c := metav1.Condition{Type: condition, Status: said.Status, Reason: said.Reason, Message: said.Message}
	if was := b.Get(condition); was != nil {
		c.ObservedGeneration = was.ObservedGeneration
	}
	b.Put(c)
}

// aggregate sums up the AWSEndpointServices.
func (b *conditionBuilder) aggregate(s *scope) {
	for _, condition := range []string{hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable} {
		switch {
		case len(s.endpoints) > 0 && condition == hyperv1.AWSEndpointAvailable && s.silence != "":
			b.Set(condition, metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, s.silence)
		case len(s.endpoints) > 0:
			status, reason, message := worst(s.endpoints, condition)
			b.Set(condition, status, reason, message)
		case b.hc.Spec.Platform.PrivateLink() && !s.dying():
			b.Set(condition, metav1.ConditionUnknown, hyperv1.NoEndpointServicesReason, "no private load balancer has a name yet")
		default:
			b.Remove(condition)
		}
	}
}

// worst is the condition of all objects together: False if it is False for one,
// else Unknown if it is Unknown for one. Every object that is not True is named.
func worst(list []hyperv1.AWSEndpointService, condition string) (status metav1.ConditionStatus, reason, message string) {
	status, reason = metav1.ConditionTrue, hyperv1.AsExpectedReason
	var bad, notes []string
	for _, es := range list {
		c := meta.FindStatusCondition(es.Status.Conditions, condition)
		if c == nil {
			c = &metav1.Condition{Status: metav1.ConditionUnknown, Reason: hyperv1.StatusUnknownReason, Message: "waiting for the first health check"}
		}
		text := es.Name + ": " + c.Message
		if c.Status == metav1.ConditionTrue {
			if c.Reason != hyperv1.AsExpectedReason || c.Message != reconcile.AllIsWell {
				notes = append(notes, text)
			}
			continue
		}
		bad = append(bad, text)
		if status == metav1.ConditionTrue || status == metav1.ConditionUnknown && c.Status == metav1.ConditionFalse {
			status, reason = c.Status, c.Reason
		}
	}
	texts := append(bad, notes...)
	slices.Sort(texts)
	if len(texts) == 0 {
		return status, reason, reconcile.AllIsWell
	}
	return status, reason, strings.Join(texts, "; ")
}
