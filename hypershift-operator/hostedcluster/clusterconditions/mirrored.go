package clusterconditions

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/teardown"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

type mirroredCondition struct {
	condition string
	expected  func(*Facts) bool
}

// mirrored are the conditions that a HostedCluster takes from its
// HostedControlPlane. A condition that is not set there is absent, unless it is expected:
// then it is Unknown.
var mirrored = []mirroredCondition{
	{hyperv1.InfrastructureReady, always},
	{hyperv1.ValidAWSIdentityProvider, onAWS},
	{hyperv1.AWSRolesIsolated, never},
	{hyperv1.EtcdAvailable, never},
	{hyperv1.KubeAPIServerAvailable, never},
	{hyperv1.KubeAPIServerReachable, never},
	{hyperv1.ExternalDNSReachable, never},
	{hyperv1.ValidHostedControlPlaneConfiguration, never},
	{hyperv1.ValidReleaseInfo, never},
	{hyperv1.ValidAWSKMSConfig, never},
	{hyperv1.AWSDefaultSecurityGroupCreated, never},
	{hyperv1.AWSDefaultSecurityGroupDeleted, never},
	{hyperv1.ConfigOperatorReconciliationSucceeded, never},
	{hyperv1.DataPlaneConnectionAvailable, never},
	{hyperv1.KubeletServingCertificatesSigned, never},
	{hyperv1.PodNetworkInstalled, never},
	{hyperv1.AdditionalPullSecretMerged, never},
	{hyperv1.IngressAvailable, never},
	{hyperv1.IngressRecordsAvailable, never},
	{hyperv1.ImageRegistryAvailable, never},
	{hyperv1.ImageRegistryBucketAvailable, never},
	{hyperv1.ControlPlaneConnectionAvailable, never},
	{hyperv1.EndpointAccessUpToDate, never},
	{hyperv1.EtcdDataEncryptionUpToDate, never},
	{hyperv1.ClusterVersionSucceeding, never},
	{hyperv1.ClusterVersionProgressing, never},
	{hyperv1.ClusterVersionReleaseAccepted, never},
	{hyperv1.ClusterVersionAvailable, never},
	{hyperv1.HostedClusterDegraded, never},
	{hyperv1.CloudResourcesDestroyed, never},
	{hyperv1.AutoNodeEnabled, never},
}

// Mirrored returns the types of these conditions.
func Mirrored() []string {
	var types []string
	for _, m := range mirrored {
		types = append(types, m.condition)
	}
	return types
}

// reported returns a condition of the HostedControlPlane, nil if it has none.
func (f *Facts) reported(conditionType string) *metav1.Condition {
	if f.ControlPlane == nil {
		return nil
	}
	return meta.FindStatusCondition(f.ControlPlane.Status.Conditions, conditionType)
}

// isObserved reports whether a condition of the HostedControlPlane includes the
// last change of the HostedCluster's spec.
func (f *Facts) isObserved(c *metav1.Condition) bool {
	return f.SpecApplied && c.ObservedGeneration >= f.ControlPlane.Generation
}

// isStale reports whether a mirrored condition does not include the last change,
// and soon will.
func (f *Facts) isStale(conditionType string) bool {
	isMirrored := slices.ContainsFunc(mirrored, func(m mirroredCondition) bool { return m.condition == conditionType })
	if f.Paused || f.OperatorProblem != "" || !isMirrored {
		return false
	}
	c := f.reported(conditionType)
	return c != nil && !f.isObserved(c)
}

// mirror returns the function of a mirrored condition. During a deletion the last value of a deleted
// control plane stays: whether AWS accepted the identity of the cluster decides what happens to its
// cloud resources.
func mirror(conditionType string, expected func(*Facts) bool) func(*Facts) metav1.Condition {
	return func(f *Facts) metav1.Condition {
		c := f.reported(conditionType)
		switch {
		case conditionType == hyperv1.CloudResourcesDestroyed && len(f.HostedCluster.Status.LeftBehind) > 0:
			// It stays until the cluster is deleted: no controller deletes these resources.
			return f.is(metav1.ConditionFalse, hyperv1.CloudResourcesCleanupSkippedReason, teardown.LeftBehindMessage(&f.HostedCluster.Status))
		case f.ControlPlane == nil && f.deleting():
			return f.fromSteps(conditionType)
		case f.OperatorProblem != "" && (c != nil || expected(f)):
			return f.is(metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, f.OperatorProblem)
		case c == nil && f.Report.Unverified(conditionType):
			return f.fromSteps(conditionType)
		case c != nil && !f.isObserved(c):
			return f.outdated(c)
		case c != nil:
			return f.is(c.Status, c.Reason, c.Message)
		case expected(f):
			return f.is(metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "waiting for the first report of the control-plane-operator")
		}
		return absent
	}
}

// outdated returns a condition that was reported for an earlier generation with the
// generation that it was observed at.
func (f *Facts) outdated(c *metav1.Condition) metav1.Condition {
	out := metav1.Condition{Status: c.Status, Reason: c.Reason, Message: c.Message}
	if previous := f.Steps.Before(c.Type); previous != nil {
		out.ObservedGeneration = previous.ObservedGeneration
	}
	return out
}

// endpointServices returns the function of a condition that sums up the conditions of all AWSEndpointServices.
func endpointServices(conditionType string) func(*Facts) metav1.Condition {
	return func(f *Facts) metav1.Condition {
		switch {
		case len(f.Endpoints) > 0 && conditionType == hyperv1.AWSEndpointAvailable && f.OperatorProblem != "":
			return f.is(metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, f.OperatorProblem)
		case len(f.Endpoints) > 0:
			return f.is(worst(inUse(f.Endpoints), conditionType))
		case f.HostedCluster.Spec.Platform.PrivateLink() && !f.deleting():
			return f.is(metav1.ConditionUnknown, hyperv1.NoEndpointServicesReason, "no private load balancer has a name yet")
		}
		return absent
	}
}

// inUse leaves out the object of a router to which the cluster moves, or from which it has moved, while the object of the other one is
// available.
func inUse(all []hyperv1.AWSEndpointService) []hyperv1.AWSEndpointService {
	other := map[string]string{names.PrivateRouter: sharedrouter.EndpointService, sharedrouter.EndpointService: names.PrivateRouter}
	return slices.DeleteFunc(slices.Clone(all), func(es hyperv1.AWSEndpointService) bool {
		at := slices.IndexFunc(all, func(o hyperv1.AWSEndpointService) bool { return o.Name == other[es.Name] })
		return at >= 0 && !connects(&es) && connects(&all[at])
	})
}

// connects reports whether both halves of an object are available.
func connects(es *hyperv1.AWSEndpointService) bool {
	return es.DeletionTimestamp.IsZero() && meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointServiceAvailable) &&
		meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointAvailable)
}

// worst combines the conditions of all objects: False if one is False, else Unknown
// if one is Unknown. It names every object that is not True.
func worst(list []hyperv1.AWSEndpointService, conditionType string) (status metav1.ConditionStatus, reason, message string) {
	status, reason = metav1.ConditionTrue, hyperv1.AsExpectedReason
	var bad, notes []string
	for _, es := range list {
		c := meta.FindStatusCondition(es.Status.Conditions, conditionType)
		if c == nil {
			c = &metav1.Condition{Status: metav1.ConditionUnknown, Reason: hyperv1.StatusUnknownReason, Message: "waiting for the first check"}
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
