package nodepool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/controlchars"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A problem is something that the user has to change.
type problem struct{ reason, message string }

func problemf(reason, format string, args ...any) problem {
	return problem{reason: reason, message: fmt.Sprintf(format, args...)}
}

func invalidf(format string, args ...any) problem {
	return problemf(hyperv1.NodePoolValidationFailedReason, format, args...)
}

// checkConfiguration refuses what cannot work, in words that say what to
// change. The CRD refuses most of it; what gets past it was written before a
// rule, or needs another object to see.
func (r *Reconciler) checkConfiguration(_ context.Context, s *scope) error {
	if r.missing != "" {
		return reconcile.Block(hyperv1.UnsupportedClusterReason, "the management cluster has no kind %s, by which machines are made: install the CRDs of Cluster API, and start the hypershift-operator again", r.missing)
	}
	return blockOn(judge(s.np, s.hc, r.Clock.Now()))
}

// blockOn is nil without problems.
func blockOn(problems []problem) error {
	if len(problems) == 0 {
		return nil
	}
	var messages []string
	for _, p := range problems {
		messages = append(messages, p.message)
	}
	return reconcile.Block(problems[0].reason, "%s", strings.Join(messages, "; "))
}

// sortProblems makes the same problems read the same each time.
func sortProblems(problems []problem) {
	slices.SortFunc(problems, func(a, b problem) int { return strings.Compare(a.message, b.message) })
}

// judge lists everything that is wrong with a NodePool, as far as it and its
// HostedCluster, nil if there is none, can tell.
func judge(np *hyperv1.NodePool, hc *hyperv1.HostedCluster, now time.Time) []problem {
	if text := np.Unreadable(); text != "" {
		return []problem{problemf(hyperv1.UnreadableReason, "the object has values that cannot be read; write these fields again: %s", text)}
	}
	if problems := checkCluster(np, hc); len(problems) > 0 {
		return problems
	}
	problems := append(checkPause(np), checkText(np)...)
	problems = append(problems, checkReplicas(np)...)
	problems = append(problems, checkRollout(np)...)
	problems = append(problems, checkNodeLabels(np)...)
	problems = append(problems, checkReferences(np)...)
	problems = append(problems, checkHopLimit(np)...)
	return append(problems, checkTags(np, hc)...)
}

func checkCluster(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) []problem {
	switch {
	case hc == nil:
		return []problem{problemf(hyperv1.NodePoolNotFoundReason,
			"HostedCluster %q, which spec.clusterName names, does not exist in namespace %s: create it there, or delete this pool and create one for another cluster", np.Spec.ClusterName, np.Namespace)}
	case !hc.DeletionTimestamp.IsZero():
		return []problem{problemf(hyperv1.DeletingReason, "HostedCluster %s is being deleted, and this pool goes with it", hc.Name)}
	case hc.Unreadable() != "":
		return []problem{problemf(hyperv1.UnreadableReason, "HostedCluster %s has values that cannot be read; write these fields of it again: %s", hc.Name, hc.Unreadable())}
	case np.Spec.Platform.Type != hyperv1.AWSPlatform:
		return []problem{invalidf("platform.type is %s, and this version makes machines on AWS only: create a pool of type AWS", np.Spec.Platform.Type)}
	case np.Spec.Platform.AWS == nil:
		return []problem{problemf(hyperv1.PlatformConfigMissingReason, "platform.type is AWS and platform.aws is missing: add it")}
	case hc.Spec.Platform.Type != hyperv1.AWSPlatform || hc.Spec.Platform.AWS == nil:
		return []problem{invalidf("HostedCluster %s is not on AWS: create this pool for a cluster that is", hc.Name)}
	}
	return nil
}

// checkPause finds a word that was meant to be a pause. It counts as one, so
// that nothing is changed that its author wanted to stay.
func checkPause(np *hyperv1.NodePool) []problem {
	if !unreadablePause(np.Spec.PausedUntil) {
		return nil
	}
	return []problem{problemf(hyperv1.ReconciliationInvalidPausedUntilReason,
		"spec.pausedUntil is %q, which is neither true nor false nor a time such as 2030-01-31T12:00:00Z: changes are stopped until it is written again", *np.Spec.PausedUntil)}
}

func unreadablePause(p *hyperv1.PausedUntil) bool {
	if p == nil || *p == "" || strings.EqualFold(string(*p), "true") || strings.EqualFold(string(*p), "false") {
		return false
	}
	_, err := time.Parse(time.RFC3339, string(*p))
	return err != nil
}

func checkHopLimit(np *hyperv1.NodePool) []problem {
	switch asked := np.Annotations[hyperv1.MetadataHopLimitAnnotation]; asked {
	case "", "1", "2":
		return nil
	default:
		return []problem{invalidf("annotation %s is %q: set it to 1 or 2, or remove it", hyperv1.MetadataHopLimitAnnotation, asked)}
	}
}

// checkText refuses control characters: values reach units of systemd and flags
// of the kubelet.
func checkText(np *hyperv1.NodePool) []problem {
	fields, err := controlchars.Fields(np.Spec)
	if err != nil {
		return []problem{invalidf("spec cannot be read: %v", err)}
	}
	var problems []problem
	for _, field := range fields {
		problems = append(problems, invalidf("%s has a line break or another control character: remove it", field))
	}
	return problems
}

func checkReplicas(np *hyperv1.NodePool) []problem {
	spec, scaling := np.Spec, np.Spec.AutoScaling
	var problems []problem
	if spec.Replicas != nil && *spec.Replicas < 0 {
		problems = append(problems, invalidf("replicas is %d: set it to 0 or more", *spec.Replicas))
	}
	if scaling == nil {
		return problems
	}
	if spec.Replicas != nil {
		problems = append(problems, invalidf("replicas and autoScaling exclude each other: remove one of them"))
	}
	if scaling.Min == nil || *scaling.Min < 0 || scaling.Max < max(*scaling.Min, 1) {
		problems = append(problems, invalidf("autoScaling needs a min of 0 or more, and a max that is at least 1 and not less than min"))
	}
	return problems
}

// checkRollout wants a rolling update that can move.
func checkRollout(np *hyperv1.NodePool) []problem {
	if strategyOf(np) != hyperv1.UpgradeStrategyRollingUpdate {
		return nil
	}
	surge, unavailable := rollingUpdateOf(np)
	var problems []problem
	for field, value := range map[string]intstr.IntOrString{"maxSurge": surge, "maxUnavailable": unavailable} {
		if n, err := intstr.GetScaledValueFromIntOrPercent(&value, 100, true); err != nil || n < 0 {
			problems = append(problems, invalidf("management.replace.rollingUpdate.%s is %q: write a number of 0 or more, or a percentage such as 25%%", field, value.String()))
		}
	}
	sortProblems(problems)
	if len(problems) == 0 && zero(surge) && zero(unavailable) {
		problems = append(problems, invalidf("with management.replace.rollingUpdate.maxSurge and maxUnavailable both zero a rollout cannot move: set one of them to 1 or more"))
	}
	return problems
}

func zero(v intstr.IntOrString) bool { return v.String() == "0" || v.String() == "0%" }

// checkReferences wants to know which subnet and security groups are meant.
func checkReferences(np *hyperv1.NodePool) []problem {
	aws := np.Spec.Platform.AWS
	var problems []problem
	if !definite(aws.Subnet) {
		problems = append(problems, invalidf("platform.aws.subnet needs an id or filters, and not both"))
	}
	if slices.ContainsFunc(aws.SecurityGroups, func(g hyperv1.AWSResourceReference) bool { return !definite(g) }) {
		problems = append(problems, invalidf("each of platform.aws.securityGroups needs an id or filters, and not both"))
	}
	return problems
}

// definite says whether a reference has either an id or filters.
func definite(ref hyperv1.AWSResourceReference) bool {
	return (ref.ID != nil && *ref.ID != "") != (len(ref.Filters) > 0)
}

// checkNodeLabels keeps the labels of Cluster API and of this operator for those
// who select by them: the labels of nodes are those of their machines.
func checkNodeLabels(np *hyperv1.NodePool) []problem {
	var problems []problem
	for _, key := range sortedKeys(np.Spec.NodeLabels) {
		domain, _, _ := strings.Cut(key, "/")
		if key == "machine-template-hash" || domain == "cluster.x-k8s.io" || strings.HasSuffix(domain, ".cluster.x-k8s.io") && domain != "node.cluster.x-k8s.io" || domain == "hypershift.openshift.io" {
			problems = append(problems, invalidf("nodeLabels has %q, by which machines are told apart: remove it", key))
		}
	}
	return problems
}
