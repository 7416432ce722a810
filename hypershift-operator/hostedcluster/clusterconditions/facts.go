package clusterconditions

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterrelease"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/sleep"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// Facts are everything that the conditions of a HostedCluster are computed from. Each
// condition is a pure function of them and is evaluated once. A function that needs
// another condition evaluates it by its type, so that their order has no effect.
type Facts struct {
	HostedCluster *hyperv1.HostedCluster
	// ControlPlane is nil if it does not exist.
	ControlPlane *hyperv1.HostedControlPlane
	Endpoints    []hyperv1.AWSEndpointService
	// Report holds the outcomes of the steps, and Steps the conditions as the steps have
	// left them. Conditions that no step has determined are as they were before.
	Report reconcile.Report
	Steps  *reconcile.Conditions
	// Paused is whether the user wants no change; InvalidPause is true if that is so
	// because spec.pausedUntil cannot be parsed.
	Paused, InvalidPause bool
	// OperatorProblem is why the control-plane-operator does not run, empty if it does.
	OperatorProblem string
	// Releases are those that have passed the checks.
	Releases clusterrelease.State
	// PreviousVersion is status.version before this reconcile, nil if there was none.
	PreviousVersion *hyperv1.ClusterVersionStatus
	// SpecApplied is true when ControlPlane's spec matches the HostedCluster's.
	SpecApplied bool
	// Tolerated are configuration errors that do not block, because the last valid configuration stays in use.
	Tolerated field.ErrorList
	// Sleep is whether the cluster sleeps, and Machines names the machines of node pools.
	Sleep    sleep.State
	Machines []string
	// NodesExpected is whether NodePools request nodes.
	NodesExpected bool
	// ImageOverrides is whether users may choose the image of the
	// control-plane-operator.
	ImageOverrides bool
	// Policies is whether the management cluster enforces NetworkPolicies; empty if
	// this installation does not test it.
	Policies metav1.ConditionStatus
	// Backups are the HCPEtcdBackups of the cluster.
	Backups []hyperv1.HCPEtcdBackup

	// SigningKey is the condition of the key of service account tokens; nil if the key could not be read.
	SigningKey *metav1.Condition

	evaluated map[string]metav1.Condition
}

func (f *Facts) deleting() bool { return !f.HostedCluster.DeletionTimestamp.IsZero() }

func (f *Facts) onAWS() bool {
	return f.HostedCluster.Spec.Platform.Type == hyperv1.AWSPlatform && f.HostedCluster.Spec.Platform.AWS != nil
}

// absent is the result for a condition that the HostedCluster does not have.
var absent metav1.Condition

// evaluators are the conditions of a HostedCluster, each with its function. A type that is missing here keeps the status from the steps.
var evaluators map[string]func(*Facts) metav1.Condition

func init() {
	evaluators = map[string]func(*Facts) metav1.Condition{
		hyperv1.ValidHostedClusterConfiguration: validConfiguration,
		hyperv1.UnmanagedEtcdAvailable:          unmanagedEtcdAvailable,
		hyperv1.AWSEndpointServiceAvailable:     endpointServices(hyperv1.AWSEndpointServiceAvailable),
		hyperv1.AWSEndpointAvailable:            endpointServices(hyperv1.AWSEndpointAvailable),
		hyperv1.ReconciliationActive:            reconciliationActive,
		hyperv1.ReconciliationSucceeded:         reconciliationSucceeded,
		hyperv1.SupportedFields:                 supportedFields,
		hyperv1.NetworkPoliciesEnforced:         networkPoliciesEnforced,
		hyperv1.EtcdBackupSucceeded:             backupSucceeded,
		hyperv1.ServiceAccountSigningKeyRotated: signingKeyRotated,
		hyperv1.HostedClusterDestroyed:          destroyed,
		hyperv1.HostedClusterAsleep:             asleep,
		hyperv1.HostedClusterAvailable:          available,
		hyperv1.HostedClusterProgressing:        progressing,
		hyperv1.HostedClusterReady:              ready,
		hyperv1.HostedClusterStalled:            stalled,
	}
	for _, m := range mirrored {
		evaluators[m.condition] = mirror(m.condition, m.expected)
	}
}

// condition returns a condition; its Status is empty if the HostedCluster does not have it.
func (f *Facts) condition(conditionType string) metav1.Condition {
	if c, ok := f.evaluated[conditionType]; ok {
		return c
	}
	c := f.fromSteps(conditionType)
	if evaluate := evaluators[conditionType]; evaluate != nil {
		c = evaluate(f)
	}
	c.Type = conditionType
	if f.evaluated == nil {
		f.evaluated = map[string]metav1.Condition{}
	}
	f.evaluated[conditionType] = c
	return c
}

// is returns a condition of the current generation.
func (f *Facts) is(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Status: status, Reason: reason, Message: message, ObservedGeneration: f.HostedCluster.Generation}
}

// fromSteps returns a condition as the steps have left it.
func (f *Facts) fromSteps(conditionType string) metav1.Condition {
	if c := f.Steps.Get(conditionType); c != nil {
		return *c
	}
	return absent
}

// Evaluate sets all conditions in f.Steps.
func (f *Facts) Evaluate() {
	for _, conditionType := range slices.Sorted(maps.Keys(evaluators)) {
		f.condition(conditionType)
	}
	for _, conditionType := range slices.Sorted(maps.Keys(evaluators)) {
		if c := f.evaluated[conditionType]; c.Status != "" {
			f.Steps.Put(c)
		} else {
			f.Steps.Remove(conditionType)
		}
	}
}

// validConfiguration also reports errors that do not block.
func validConfiguration(f *Facts) metav1.Condition {
	c := f.fromSteps(hyperv1.ValidHostedClusterConfiguration)
	if len(f.Tolerated) > 0 && c.Status == metav1.ConditionTrue {
		return f.is(metav1.ConditionFalse, validation.Reason(f.Tolerated), validation.Message(f.Tolerated))
	}
	return c
}

// signingKeyRotated stays as it was while the key cannot be read, and during a pause.
func signingKeyRotated(f *Facts) metav1.Condition {
	if f.SigningKey == nil {
		return f.fromSteps(hyperv1.ServiceAccountSigningKeyRotated)
	}
	if f.SigningKey.Status == "" {
		return absent
	}
	return f.is(f.SigningKey.Status, f.SigningKey.Reason, f.SigningKey.Message)
}

func unmanagedEtcdAvailable(f *Facts) metav1.Condition {
	if f.HostedCluster.Spec.Etcd.Unmanaged == nil {
		return absent
	}
	return f.fromSteps(hyperv1.UnmanagedEtcdAvailable)
}

func reconciliationActive(f *Facts) metav1.Condition {
	switch until := f.HostedCluster.Spec.PausedUntil; {
	case !f.Paused:
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, "changes are being acted on")
	case f.deleting():
		return f.is(metav1.ConditionTrue, hyperv1.DeletingReason, "a pause does not stop the deletion")
	case f.InvalidPause:
		return f.is(metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason,
			fmt.Sprintf("spec.pausedUntil is %q, which cannot be read, and nothing is changed until it can: write true, false or a time such as 2030-01-31T12:00:00Z, or remove it", *until))
	default:
		return f.is(metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, fmt.Sprintf("spec.pausedUntil is %q: remove it to go on", *until))
	}
}

// reconciliationSucceeded reports whether every step of this reconcile is done.
func reconciliationSucceeded(f *Facts) metav1.Condition {
	if f.Paused && !f.deleting() {
		return f.is(metav1.ConditionUnknown, f.condition(hyperv1.ReconciliationActive).Reason, "nothing is changed while spec.pausedUntil stops it")
	}
	reason, messages := "", []string{}
	for _, o := range f.Report {
		if o.Err == nil || apierrors.IsConflict(o.Err) || f.Releases.Held && o.Condition == hyperv1.ValidReleaseImage {
			continue
		}
		if reason == "" {
			reason = reasonOf(o.Err)
		}
		messages = append(messages, o.Step+": "+awsx.Message(o.Err))
	}
	switch {
	case reason != "":
		return f.is(metav1.ConditionFalse, reason, strings.Join(messages, "; "))
	case f.Report.Done():
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	case f.Releases.Held:
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, "everything but the release: see "+hyperv1.ValidReleaseImage)
	}
	return f.fromSteps(hyperv1.ReconciliationSucceeded)
}

// reasonOf returns the reason of an outcome.
func reasonOf(err error) string {
	var wait *reconcile.Waiting
	var block *reconcile.Blocked
	switch {
	case errors.As(err, &wait):
		return wait.Reason
	case errors.As(err, &block):
		return block.Reason
	}
	return hyperv1.ReconcileErrorReason
}

// supportedFields lists the fields that are accepted and have no effect yet.
func supportedFields(f *Facts) metav1.Condition {
	fields := f.HostedCluster.NotActedOn()
	for _, key := range f.HostedCluster.AnnotationsNotActedOn() {
		fields = append(fields, "annotation "+key)
	}
	if f.HostedCluster.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation] != "" && !f.ImageOverrides {
		fields = append(fields, "annotation "+hyperv1.ControlPlaneOperatorImageAnnotation+" (the hypershift-operator was started without --allow-control-plane-operator-image-override)")
	}
	if len(fields) == 0 {
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	}
	return f.is(metav1.ConditionFalse, hyperv1.NotActedOnReason, "accepted, and without effect in this version: "+strings.Join(fields, ", "))
}

func networkPoliciesEnforced(f *Facts) metav1.Condition {
	switch f.Policies {
	case "":
		return absent
	case metav1.ConditionTrue:
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	case metav1.ConditionFalse:
		return f.is(metav1.ConditionFalse, hyperv1.NetworkPoliciesIgnoredReason,
			"the management cluster does not enforce NetworkPolicies: pods of control planes reach each other, the management API server and the identity of their node; install a network that enforces them, or enable it")
	}
	return f.is(metav1.ConditionUnknown, hyperv1.NetworkPoliciesUntriedReason, "no control plane of the management cluster could be tried yet")
}

// destroyed reports the progress of the deletion.
func destroyed(f *Facts) metav1.Condition {
	if !f.deleting() {
		return f.fromSteps(hyperv1.HostedClusterDestroyed)
	}
	err := f.Report.Err()
	if err == nil {
		return f.fromSteps(hyperv1.HostedClusterDestroyed)
	}
	status := metav1.ConditionFalse
	var wait *reconcile.Waiting
	if errors.As(err, &wait) && wait.Reason == hyperv1.WaitingForGracePeriodReason {
		status = metav1.ConditionTrue
	}
	return f.is(status, reasonOf(err), awsx.Message(err))
}

func always(*Facts) bool { return true }

func never(*Facts) bool { return false }

func onAWS(f *Facts) bool { return f.onAWS() }

func isPrivate(f *Facts) bool { return f.HostedCluster.Spec.Platform.PrivateLink() }

// isActive is false while the user has paused everything: that no step runs then
// is no evidence about the cluster.
func isActive(f *Facts) bool {
	return f.condition(hyperv1.ReconciliationActive).Status != metav1.ConditionFalse
}

// before returns the status of a condition before this reconcile, "" without one.
func (f *Facts) before(conditionType string) metav1.ConditionStatus {
	if c := f.Steps.Before(conditionType); c != nil {
		return c.Status
	}
	return ""
}
