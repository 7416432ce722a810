package clusterconditions

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterrelease"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/oidc"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// needed are the conditions that make a cluster Available, in the order in which a
// user should read them. A condition that is not required counts while it is False.
var needed = []struct {
	condition string
	required  func(*Facts) bool
}{
	{hyperv1.ValidHostedClusterConfiguration, always},
	{hyperv1.SupportedHostedCluster, always},
	{hyperv1.ValidReleaseImage, isActive},
	{hyperv1.ReconciliationSucceeded, isActive},
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

// publishesDocuments is false for clusters with user-published documents, or with a server in front of the bucket: documents that cannot be
// checked must not keep a cluster from being Available.
func publishesDocuments(f *Facts) bool {
	return onAWS(f) && f.HostedCluster.Spec.ServiceAccountSigningKey == nil && oidc.ParseIssuer(f.HostedCluster.Spec.IssuerURL).Bucket != ""
}

// notObserved marks a condition that the control-plane-operator reported before the
// last change of the spec.
const notObserved = "the last change has not been observed yet"

func (f *Facts) wasAvailable() bool {
	return f.before(hyperv1.HostedClusterAvailable) == metav1.ConditionTrue
}

// available reports whether the cluster can be used.
func available(f *Facts) metav1.Condition {
	switch missing := f.firstMissing(); {
	case f.deleting():
		return f.is(metav1.ConditionFalse, hyperv1.DeletingReason, f.deletionMessage())
	case f.sleeps():
		return f.notAwake()
	case missing == nil:
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	case f.isStale(missing.Type) && missing.Status == metav1.ConditionTrue && f.wasAvailable():
		// An edit does not end the availability. Progressing reports that it has not been observed.
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	default:
		return f.is(metav1.ConditionFalse, missing.Reason, f.missingMessage(missing))
	}
}

func (f *Facts) deletionMessage() string {
	message := "the cluster is being deleted"
	if err := f.Report.Err(); err != nil {
		message += ": " + awsx.Message(err)
	}
	return message
}

func (f *Facts) missingMessage(missing *metav1.Condition) string {
	message := missing.Type + ": " + missing.Message
	if f.isStale(missing.Type) {
		message += " (" + notObserved + ")"
	}
	if f.waitsForRestore() {
		message += "; etcd begins with the backup of an EtcdRestore: see `kubectl get etcdrestores -n " + f.HostedCluster.Namespace + "`"
	}
	return message
}

// waitsForRestore reports whether a cluster that has never been up has members of etcd that wait for a backup.
func (f *Facts) waitsForRestore() bool {
	return f.ControlPlane != nil && f.ControlPlane.Status.EtcdRestore != "" && !f.ControlPlane.Status.Initialized
}

// progressing reports whether waiting helps: it is False for a cluster that only a
// change of its user can help.
func progressing(f *Facts) metav1.Condition {
	if f.deleting() {
		return f.is(metav1.ConditionTrue, hyperv1.DeletingReason, f.deletionMessage())
	}
	if c := f.condition(hyperv1.ReconciliationActive); c.Status == metav1.ConditionFalse {
		return f.is(metav1.ConditionFalse, hyperv1.BlockedReason, c.Type+": "+c.Message)
	}
	missing := f.firstMissing()
	switch {
	case f.sleeps() && (missing == nil || !isBlocking(missing)):
		return f.notAwake()
	case missing == nil:
		return f.rollout(f.accessChange(f.is(metav1.ConditionFalse, hyperv1.AsExpectedReason, reconcile.AllIsWell)))
	case isBlocking(missing):
		return f.rollout(f.is(metav1.ConditionFalse, hyperv1.BlockedReason, f.missingMessage(missing)))
	}
	return f.is(metav1.ConditionTrue, hyperv1.ProgressingReason, f.missingMessage(missing))
}

// accessChange returns Progressing while machines follow a change of the access mode, and otherwise for a cluster without
// such a change.
func (f *Facts) accessChange(otherwise metav1.Condition) metav1.Condition {
	if c := f.condition(hyperv1.EndpointAccessUpToDate); c.Status == metav1.ConditionFalse {
		return f.is(metav1.ConditionTrue, hyperv1.ProgressingReason, c.Type+": "+c.Message)
	}
	return otherwise
}

// isBlocking reports whether only a change of the user can help.
func isBlocking(missing *metav1.Condition) bool {
	switch missing.Type {
	case hyperv1.ValidHostedClusterConfiguration, hyperv1.SupportedHostedCluster:
		return true
	}
	return missing.Type == hyperv1.ValidReleaseImage && missing.Status == metav1.ConditionFalse
}

// rollout returns Progressing for a cluster that does not run the wanted release,
// and otherwise for a cluster that runs it.
func (f *Facts) rollout(otherwise metav1.Condition) metav1.Condition {
	gate, version := f.condition(hyperv1.ValidReleaseImage), clusterrelease.RollingOut(&f.HostedCluster.Status)
	switch {
	case f.Releases.Held && gate.Status == metav1.ConditionFalse:
		return f.is(metav1.ConditionFalse, hyperv1.BlockedReason, gate.Type+": "+gate.Message)
	case f.Releases.Held && !f.Releases.IsWanted(f.HostedCluster):
		return f.is(metav1.ConditionTrue, hyperv1.ProgressingReason, gate.Type+": "+gate.Message)
	case version != "" && f.condition(hyperv1.HostedClusterAvailable).Status == metav1.ConditionTrue:
		return f.is(metav1.ConditionTrue, hyperv1.ProgressingReason, "version "+version+" is being rolled out")
	}
	return otherwise
}

// firstMissing returns the first needed condition that is not True, or that is True
// and does not include the last change.
func (f *Facts) firstMissing() *metav1.Condition {
	for _, n := range needed {
		c, required := f.condition(n.condition), n.required(f)
		switch {
		case f.Releases.Held && n.condition == hyperv1.ValidReleaseImage: // the cluster runs with the release that it has
		case c.Status == "" && required:
			return &metav1.Condition{Type: n.condition, Reason: hyperv1.StatusUnknownReason, Message: "waiting for the first check"}
		case c.Status == "", c.Reason == hyperv1.SomeSubnetsUnusableReason: // the endpoint serves the other NodePools
		case required && f.isStale(n.condition):
			return &c
		case c.Status != metav1.ConditionTrue && (required || c.Status == metav1.ConditionFalse):
			return &c
		}
	}
	return nil
}
