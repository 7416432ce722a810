package validation

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/controlchars"
)

// NodePoolDefaults are values of a NodePool after defaulting.
type NodePoolDefaults struct {
	// Strategy, MaxSurge and MaxUnavailable are the settings of its rollouts.
	Strategy                 hyperv1.UpgradeStrategy
	MaxSurge, MaxUnavailable intstr.IntOrString
	// InstanceTags is how many tags the operator adds to each instance.
	InstanceTags int
}

// NodePool returns every error that the object and its HostedCluster, nil if it does not exist, show. Without a usable HostedCluster the
// rest is not checked.
func NodePool(np *hyperv1.NodePool, hc *hyperv1.HostedCluster, d NodePoolDefaults) field.ErrorList {
	if text := np.Unreadable(); text != "" {
		return field.ErrorList{reason(hyperv1.UnreadableReason).secret(spec, "the object has values that cannot be read; write these fields again: %s", text)}
	}
	if err := clusterOfNodePool(np, hc); err != nil {
		return field.ErrorList{err}
	}
	errs := append(NodePoolPause(np.Spec.PausedUntil), nodePoolText(&np.Spec)...)
	errs = append(errs, NodePoolReplicas(&np.Spec)...)
	if d.Strategy == hyperv1.UpgradeStrategyRollingUpdate {
		errs = append(errs, rollingUpdate(d.MaxSurge, d.MaxUnavailable)...)
	}
	errs = append(errs, nodeLabels(np.Spec.NodeLabels)...)
	errs = append(errs, awsReferences(np.Spec.Platform.AWS)...)
	errs = append(errs, metadataHopLimit(np.Annotations[hyperv1.MetadataHopLimitAnnotation])...)
	errs = append(errs, userDataFormat(np.Annotations[hyperv1.UserDataFormatAnnotation], np.Spec.Platform.AWS.AMI)...)
	return append(errs, nodePoolTags(np.Spec.Platform.AWS.ResourceTags, hc.Spec.Platform.AWS.ResourceTags, d.InstanceTags)...)
}

func clusterOfNodePool(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) *field.Error {
	clusterName, platformType := spec.Child("clusterName"), spec.Child("platform", "type")
	switch {
	case hc == nil:
		return reason(hyperv1.NodePoolNotFoundReason).error(field.ErrorTypeNotFound, clusterName, np.Spec.ClusterName,
			"HostedCluster %q, which spec.clusterName names, does not exist in namespace %s: create it there, or delete this pool and create one for another cluster", np.Spec.ClusterName, np.Namespace)
	case !hc.DeletionTimestamp.IsZero():
		return reason(hyperv1.DeletingReason).invalid(clusterName, hc.Name, "HostedCluster %s is being deleted, and this pool goes with it", hc.Name)
	case hc.Unreadable() != "":
		return reason(hyperv1.UnreadableReason).invalid(clusterName, hc.Name, "HostedCluster %s has values that cannot be read; write these fields of it again: %s", hc.Name, hc.Unreadable())
	case np.Spec.Platform.Type != hyperv1.AWSPlatform:
		return nodePool.unsupported(platformType, np.Spec.Platform.Type, "platform.type is %s, and this version makes machines on AWS only: create a pool of type AWS", np.Spec.Platform.Type)
	case np.Spec.Platform.AWS == nil:
		return reason(hyperv1.PlatformConfigMissingReason).required(spec.Child("platform", "aws"), "platform.type is AWS and platform.aws is missing: add it")
	case hc.Spec.Platform.Type != hyperv1.AWSPlatform || hc.Spec.Platform.AWS == nil:
		return nodePool.invalid(clusterName, hc.Name, "HostedCluster %s is not on AWS: create this pool for a cluster that is", hc.Name)
	}
	return nil
}

// NodePoolPause rejects a value of pausedUntil that cannot be parsed. The
// controller treats it as a pause, so that no machine changes against the user's intent.
func NodePoolPause(until *hyperv1.PausedUntil) field.ErrorList {
	if until == nil || *until == "" || strings.EqualFold(string(*until), "true") || strings.EqualFold(string(*until), "false") {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, string(*until)); err == nil {
		return nil
	}
	return field.ErrorList{reason(hyperv1.ReconciliationInvalidPausedUntilReason).invalid(spec.Child("pausedUntil"), *until,
		"spec.pausedUntil is %q, which is neither true nor false nor a time such as 2030-01-31T12:00:00Z: changes are stopped until it is written again", *until)}
}

func metadataHopLimit(value string) field.ErrorList {
	switch value {
	case "", "1", "2":
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(hyperv1.MetadataHopLimitAnnotation)
	return field.ErrorList{nodePool.unsupported(at, value, "annotation %s is %q: set it to 1 or 2, or remove it", hyperv1.MetadataHopLimitAnnotation, value)}
}

// userDataFormat rejects an annotation without an image of the user: the release specifies the format of its own images.
func userDataFormat(value, ami string) field.ErrorList {
	at := field.NewPath("metadata", "annotations").Key(hyperv1.UserDataFormatAnnotation)
	switch format := hyperv1.UserDataFormat(value); {
	case value == "":
		return nil
	case format != hyperv1.UserDataFormatIgnition && format != hyperv1.UserDataFormatCloudConfig:
		return field.ErrorList{nodePool.unsupported(at, value, "annotation %s is %q: set it to %s or %s, or remove it", hyperv1.UserDataFormatAnnotation, value, hyperv1.UserDataFormatIgnition, hyperv1.UserDataFormatCloudConfig)}
	case ami == "":
		return field.ErrorList{nodePool.unsupported(at, value, "annotation %s describes the image in platform.aws.ami, which is not set: set it, or remove the annotation", hyperv1.UserDataFormatAnnotation)}
	}
	return nil
}

// nodePoolText rejects control characters: values end up in systemd units and in
// flags of the kubelet.
func nodePoolText(s *hyperv1.NodePoolSpec) field.ErrorList {
	fields, err := controlchars.Fields(*s)
	if err != nil {
		return field.ErrorList{nodePool.secret(spec, "spec cannot be read: %v", err)}
	}
	var errs field.ErrorList
	for _, f := range fields {
		errs = append(errs, nodePool.secret(spec.Child(f), "%s has a line break or another control character: remove it", f))
	}
	return errs
}

// NodePoolReplicas rejects numbers of nodes that contradict each other.
func NodePoolReplicas(s *hyperv1.NodePoolSpec) field.ErrorList {
	var errs field.ErrorList
	if s.Replicas != nil && *s.Replicas < 0 {
		errs = append(errs, nodePool.invalid(spec.Child("replicas"), *s.Replicas, "replicas is %d: set it to 0 or more", *s.Replicas))
	}
	scaling := s.AutoScaling
	if scaling == nil {
		return errs
	}
	if s.Replicas != nil {
		errs = append(errs, nodePool.forbidden(spec.Child("replicas"), "replicas and autoScaling exclude each other: remove one of them"))
	}
	if scaling.Min == nil || *scaling.Min < 0 || scaling.Max < max(*scaling.Min, 1) {
		errs = append(errs, nodePool.invalid(spec.Child("autoScaling"), scaling.Max, "autoScaling needs a min of 0 or more, and a max that is at least 1 and not less than min"))
	}
	return errs
}

// rollingUpdate rejects limits with which a rollout cannot make progress.
func rollingUpdate(maxSurge, maxUnavailable intstr.IntOrString) field.ErrorList {
	path := spec.Child("management", "replace", "rollingUpdate")
	var errs field.ErrorList
	for name, value := range map[string]intstr.IntOrString{"maxSurge": maxSurge, "maxUnavailable": maxUnavailable} {
		if n, err := intstr.GetScaledValueFromIntOrPercent(&value, 100, true); err != nil || n < 0 {
			errs = append(errs, nodePool.invalid(path.Child(name), value.String(),
				"management.replace.rollingUpdate.%s is %q: write a number of 0 or more, or a percentage such as 25%%", name, value.String()))
		}
	}
	Sort(errs)
	if len(errs) == 0 && isZero(maxSurge) && isZero(maxUnavailable) {
		errs = append(errs, nodePool.invalid(path, "0", "with management.replace.rollingUpdate.maxSurge and maxUnavailable both zero a rollout cannot move: set one of them to 1 or more"))
	}
	return errs
}

func isZero(v intstr.IntOrString) bool { return v.String() == "0" || v.String() == "0%" }

// awsReferences rejects references that do not identify a subnet or a security group.
func awsReferences(aws *hyperv1.AWSNodePoolPlatform) field.ErrorList {
	path := spec.Child("platform", "aws")
	var errs field.ErrorList
	if !isDefinite(aws.Subnet) {
		errs = append(errs, nodePool.invalid(path.Child("subnet"), field.OmitValueType{}, "platform.aws.subnet needs an id or filters, and not both"))
	}
	if slices.ContainsFunc(aws.SecurityGroups, func(g hyperv1.AWSResourceReference) bool { return !isDefinite(g) }) {
		errs = append(errs, nodePool.invalid(path.Child("securityGroups"), field.OmitValueType{}, "each of platform.aws.securityGroups needs an id or filters, and not both"))
	}
	return errs
}

// isDefinite reports whether a reference has either an id or filters.
func isDefinite(ref hyperv1.AWSResourceReference) bool {
	return (ref.ID != nil && *ref.ID != "") != (len(ref.Filters) > 0)
}

// nodeLabels rejects labels by which Cluster API and this operator select
// machines: a node gets the labels of its machine.
func nodeLabels(labels map[string]hyperv1.LabelValue) field.ErrorList {
	var errs field.ErrorList
	for _, key := range sortedKeys(labels) {
		domain, _, _ := strings.Cut(key, "/")
		if key == "machine-template-hash" || domain == "cluster.x-k8s.io" || strings.HasSuffix(domain, ".cluster.x-k8s.io") && domain != "node.cluster.x-k8s.io" || domain == "hypershift.openshift.io" {
			errs = append(errs, nodePool.forbidden(spec.Child("nodeLabels").Key(key), "nodeLabels has %q, by which machines are selected: remove it", key))
		}
	}
	return errs
}
