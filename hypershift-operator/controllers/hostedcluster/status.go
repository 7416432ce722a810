package hostedcluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/conditions"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/release"
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
	{hyperv1.EtcdAvailable, never},
	{hyperv1.KubeAPIServerAvailable, never},
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

// active is false while the user has stopped everything: that nothing is done
// then says nothing about the cluster.
func active(hc *hyperv1.HostedCluster) bool {
	c := conditions.Get(hc.Status.Conditions, hyperv1.ReconciliationActive)
	return c == nil || c.Status != metav1.ConditionFalse
}

func always(*hyperv1.HostedCluster) bool       { return true }
func never(*hyperv1.HostedCluster) bool        { return false }
func onAWS(hc *hyperv1.HostedCluster) bool     { return awsOf(hc) != nil }
func isPrivate(hc *hyperv1.HostedCluster) bool { return hc.Spec.Platform.PrivateLink() }

// needed are the conditions that make a cluster Available, in the order in
// which a user should look at them.
var needed = []struct {
	condition string
	of        func(*hyperv1.HostedCluster) bool
}{
	{hyperv1.ValidHostedClusterConfiguration, always},
	{hyperv1.SupportedHostedCluster, always},
	{hyperv1.ValidReleaseImage, active},
	{hyperv1.ReconciliationSucceeded, active},
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
	{hyperv1.EtcdAvailable, always},
}

// publishesDocuments is false for who brings the signing key, or a server in
// front of our bucket: what we cannot check must not hold the cluster up.
func publishesDocuments(hc *hyperv1.HostedCluster) bool {
	return onAWS(hc) && hc.Spec.ServiceAccountSigningKey == nil && placeOf(hc.Spec.IssuerURL).bucket != ""
}

var words = conditions.Judge{
	// An answer of the API server, such as a conflict, says nothing about the cluster.
	Transient: func(err error) bool {
		return awsx.IsTransient(err) || release.IsUnreachable(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	},
	Reason:  awsx.Reason,
	Message: awsx.Message,
}

// summarize puts what the steps said, and what others say of the cluster, into
// the status.
func (r *Reconciler) summarize(s *scope, report flow.Report) {
	b := &board{hc: s.hc, now: metav1.NewTime(r.Clock.Now()), behind: map[string]bool{}, held: s.held}
	was := slices.Clone(s.hc.Status.Conditions)
	s.hc.Status.Conditions = conditions.FromReport(answers(s, report), words, s.hc.Status.Conditions, s.hc.Generation, b.now.Time)
	for _, condition := range sortedKeys(s.unchecked) {
		c := s.unchecked[condition]
		b.set(condition, metav1.ConditionUnknown, c.Reason, c.Message)
	}
	if s.hc.Spec.Etcd.Unmanaged == nil {
		b.remove(hyperv1.UnmanagedEtcdAvailable)
	}
	s.recordVersion(b.now.Time)
	b.mirror(s)
	b.aggregate(s)
	b.pause(s)
	b.reconciliation(s, report)
	b.unsupported(r.AllowOperatorImageOverride)
	b.destruction(s, report)
	b.available(s, report)
	b.rollout(s)
	b.stopped(s)
	steady(was, s.hc.Status.Conditions)
	if s.hcp != nil {
		s.hc.Status.ControlPlaneEndpoint = s.hcp.Status.ControlPlaneEndpoint
		s.hc.Status.Platform = s.hcp.Status.Platform
	}
	if b.turned != "" {
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, b.turned, "Reconcile", "%s", conditions.Get(s.hc.Status.Conditions, hyperv1.HostedClusterAvailable).Message)
	}
}

// steady gives what is as it was its time back: on the way through the summary
// it may have been otherwise for a moment.
func steady(was, is []metav1.Condition) {
	for i := range is {
		if c := conditions.Get(was, is[i].Type); c != nil && c.Status == is[i].Status {
			is[i].LastTransitionTime = c.LastTransitionTime
		}
	}
}

// answers is the report without what the steps could not tell.
func answers(s *scope, report flow.Report) flow.Report {
	report = slices.Clone(report)
	for i := range report {
		if _, unchecked := s.unchecked[report[i].Condition]; unchecked {
			report[i].Condition = ""
		}
	}
	return report
}

// board is the conditions of a cluster while they are being written.
type board struct {
	hc     *hyperv1.HostedCluster
	now    metav1.Time
	turned string // the reason of an event, if Available has turned
	// behind are the mirrored conditions that are about an earlier generation.
	behind map[string]bool
	// held says that the cluster runs a release, and not the one that is wanted.
	held bool
}

func (b *board) get(condition string) *metav1.Condition {
	return conditions.Get(b.hc.Status.Conditions, condition)
}

func (b *board) remove(condition string) {
	conditions.Remove(&b.hc.Status.Conditions, condition)
}

func (b *board) set(condition string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&b.hc.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: message, ObservedGeneration: b.hc.Generation,
	}, b.now.Time)
}

const calm = "All is well"

// mirror repeats what the HostedControlPlane says. While the cluster is being
// deleted, the last word of a control plane that is gone stands: whether AWS
// still took our tokens decides what happens to what is left.
func (b *board) mirror(s *scope) {
	if s.hcp == nil && s.dying() {
		return
	}
	for _, m := range mirrored {
		var said *metav1.Condition
		if s.hcp != nil {
			said = conditions.Get(s.hcp.Status.Conditions, m.condition)
		}
		switch {
		case m.condition == hyperv1.CloudResourcesDestroyed && leftBehind(b.get(m.condition)):
			// It stands until the cluster is gone: nobody will take the rest away.
			if c := b.get(m.condition); takenOver(c, s.hcp) == "" {
				b.remove(m.condition)
			} else {
				b.set(m.condition, c.Status, c.Reason, takenOver(c, s.hcp))
			}
		case s.silence != "" && (said != nil || m.expected(b.hc)):
			b.set(m.condition, metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, s.silence)
		case said == nil && s.unchecked[m.condition].Reason != "":
			// A step has just said why nobody knows.
		case said != nil && !(s.told && said.ObservedGeneration >= s.hcp.Generation):
			b.repeat(m.condition, said)
			b.behind[m.condition] = !s.paused
		case said != nil:
			b.set(m.condition, said.Status, said.Reason, said.Message)
		case m.expected(b.hc):
			b.set(m.condition, metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "the control-plane-operator has not said yet")
		default:
			b.remove(m.condition)
		}
	}
}

// repeat takes over what was said about an earlier generation, and does not
// claim that it is about this one.
func (b *board) repeat(condition string, said *metav1.Condition) {
	c := metav1.Condition{Type: condition, Status: said.Status, Reason: said.Reason, Message: said.Message}
	if was := b.get(condition); was != nil {
		c.ObservedGeneration = was.ObservedGeneration
	}
	conditions.Set(&b.hc.Status.Conditions, c, b.now.Time)
}

// aggregate sums up the AWSEndpointServices.
func (b *board) aggregate(s *scope) {
	for _, condition := range []string{hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable} {
		switch {
		case len(s.endpoints) > 0 && condition == hyperv1.AWSEndpointAvailable && s.silence != "":
			b.set(condition, metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, s.silence)
		case len(s.endpoints) > 0:
			status, reason, message := worst(s.endpoints, condition)
			b.set(condition, status, reason, message)
		case b.hc.Spec.Platform.PrivateLink() && !s.dying():
			b.set(condition, metav1.ConditionUnknown, hyperv1.NoEndpointServicesReason, "no private load balancer has a name yet")
		default:
			b.remove(condition)
		}
	}
}

// worst is the condition of all objects together: False if it is False for one,
// else Unknown if it is Unknown for one. Every object that is not True is named.
func worst(list []hyperv1.AWSEndpointService, condition string) (status metav1.ConditionStatus, reason, message string) {
	status, reason = metav1.ConditionTrue, hyperv1.AsExpectedReason
	var bad, notes []string
	for _, es := range list {
		c := conditions.Get(es.Status.Conditions, condition)
		if c == nil {
			c = &metav1.Condition{Status: metav1.ConditionUnknown, Reason: hyperv1.StatusUnknownReason, Message: "nobody has looked yet"}
		}
		text := es.Name + ": " + c.Message
		if c.Status == metav1.ConditionTrue {
			if c.Reason != hyperv1.AsExpectedReason || c.Message != calm {
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
		return status, reason, calm
	}
	return status, reason, strings.Join(texts, "; ")
}

func (b *board) pause(s *scope) {
	switch until := b.hc.Spec.PausedUntil; {
	case !s.paused:
		b.set(hyperv1.ReconciliationActive, metav1.ConditionTrue, hyperv1.AsExpectedReason, "changes are being acted on")
	case s.dying():
		b.set(hyperv1.ReconciliationActive, metav1.ConditionTrue, hyperv1.DeletingReason, "a pause does not stop the deletion")
	case s.unreadablePause():
		b.set(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason,
			fmt.Sprintf("spec.pausedUntil is %q, which cannot be read, and nothing is changed until it can: write true, false or a time such as 2030-01-31T12:00:00Z, or remove it", *until))
	default:
		b.set(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, fmt.Sprintf("spec.pausedUntil is %q: remove it to go on", *until))
	}
}

// reconciliation says whether everything that this pass set out to do is done.
func (b *board) reconciliation(s *scope, report flow.Report) {
	if s.paused && !s.dying() {
		b.set(hyperv1.ReconciliationSucceeded, metav1.ConditionUnknown, b.get(hyperv1.ReconciliationActive).Reason, "nothing is changed while spec.pausedUntil stops it")
		return
	}
	reason, messages := "", []string{}
	for _, o := range report {
		if o.Err == nil || apierrors.IsConflict(o.Err) || s.held && o.Condition == hyperv1.ValidReleaseImage {
			continue
		}
		if reason == "" {
			reason = reasonOf(o.Err)
		}
		messages = append(messages, o.Step+": "+awsx.Message(o.Err))
	}
	switch {
	case reason != "":
		b.set(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, reason, strings.Join(messages, "; "))
	case report.Done():
		b.set(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, calm)
	case s.held:
		b.set(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "everything but the release: see "+hyperv1.ValidReleaseImage)
	}
}

// reasonOf is the reason that a step gave itself.
func reasonOf(err error) string {
	var wait *flow.Waiting
	var block *flow.Blocked
	switch {
	case errors.As(err, &wait):
		return wait.Reason
	case errors.As(err, &block):
		return block.Reason
	}
	return hyperv1.ReconcileErrorReason
}

// unsupported names the fields that are accepted and do nothing yet.
func (b *board) unsupported(allowImage bool) {
	fields := b.hc.NotActedOn()
	if b.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation] != "" && !allowImage {
		fields = append(fields, "annotation "+hyperv1.ControlPlaneOperatorImageAnnotation+" (the hypershift-operator was started without --allow-control-plane-operator-image-override)")
	}
	if len(fields) == 0 {
		b.set(hyperv1.SupportedFields, metav1.ConditionTrue, hyperv1.AsExpectedReason, calm)
		return
	}
	b.set(hyperv1.SupportedFields, metav1.ConditionFalse, hyperv1.NotActedOnReason, "accepted, and without effect in this version: "+strings.Join(fields, ", "))
}

// available answers the one question that everybody has.
func (b *board) available(s *scope, report flow.Report) {
	was := b.get(hyperv1.HostedClusterAvailable)
	wasUp := was != nil && was.Status != metav1.ConditionFalse // Unknown comes after True only
	switch missing := b.firstMissing(); {
	case s.dying():
		message := "the cluster is being deleted"
		if stage := stageOf(report); stage != "" {
			message += ": " + stage
		}
		b.set(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, message)
		b.set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.DeletingReason, message)
	case missing == nil:
		b.set(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, calm)
		b.set(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.AsExpectedReason, calm)
		if !wasUp {
			b.turned = "Available"
		}
	case b.behind[missing.Type] && missing.Status == metav1.ConditionTrue && wasUp:
		message := missing.Type + ": the last change has not been looked at yet"
		b.set(hyperv1.HostedClusterAvailable, metav1.ConditionUnknown, hyperv1.ProgressingReason, message)
		b.set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, message)
	default:
		message := missing.Type + ": " + missing.Message
		if b.behind[missing.Type] {
			message += " (the last change has not been looked at yet)"
		}
		b.set(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, missing.Reason, message)
		switch {
		case missing.Type == hyperv1.ValidHostedClusterConfiguration, missing.Type == hyperv1.SupportedHostedCluster, missing.Type == hyperv1.ValidReleaseImage && missing.Status == metav1.ConditionFalse:
			b.set(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, message)
		case missing.Reason == hyperv1.NotDeployedReason: // all that this version makes is there
			b.set(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.AsExpectedReason, calm)
		default:
			b.set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, message)
		}
		if wasUp {
			b.turned = "NotAvailable"
		}
	}
}

// rollout says of a cluster that lacks nothing else how it is with its release.
func (b *board) rollout(s *scope) {
	if s.dying() || b.get(hyperv1.HostedClusterProgressing).Status == metav1.ConditionTrue {
		return
	}
	gate, version := b.get(hyperv1.ValidReleaseImage), rollingOut(b.hc)
	switch {
	case b.held && gate.Status == metav1.ConditionFalse:
		b.set(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, gate.Type+": "+gate.Message)
	case b.held && s.releaseImage != b.hc.Spec.Release.Image:
		b.set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, gate.Type+": "+gate.Message)
	case version != "" && b.get(hyperv1.HostedClusterAvailable).Status == metav1.ConditionTrue:
		b.set(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, "version "+version+" is being rolled out")
	}
}

// stopped says that nothing progresses, whatever is missing, because the user
// wants no change.
func (b *board) stopped(s *scope) {
	if c := b.get(hyperv1.ReconciliationActive); !s.dying() && c.Status == metav1.ConditionFalse {
		b.set(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, c.Type+": "+c.Message)
	}
}

// firstMissing is the first needed condition that is not True, or that was
// True before the last change and may not be any more.
func (b *board) firstMissing() *metav1.Condition {
	for _, n := range needed {
		c := b.get(n.condition)
		switch {
		case b.held && n.condition == hyperv1.ValidReleaseImage: // it serves with the release that it has
		case c == nil && n.of(b.hc):
			return &metav1.Condition{Type: n.condition, Reason: hyperv1.StatusUnknownReason, Message: "nobody has looked yet"}
		case c != nil && b.behind[n.condition] && n.of(b.hc):
			return c
		case c != nil && c.Status != metav1.ConditionTrue && (n.of(b.hc) || c.Status == metav1.ConditionFalse):
			return c
		}
	}
	return nil
}
