package nodepool

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// desiredReplicas returns the replicas of the NodePool. With autoscaling it returns what the autoscaler has set, within its
// bounds. current is nil if the autoscaler has not set it.
func desiredReplicas(np *hyperv1.NodePool, current *int32) int32 {
	scaling := np.Spec.AutoScaling
	if scaling == nil {
		return ptr.Deref(np.Spec.Replicas, 0)
	}
	least := ptr.Deref(scaling.Min, 0)
	return min(max(ptr.Deref(current, least), least), scaling.Max)
}

// autoscaling reports whether the cluster autoscaler sets the number of machines of the pool. The Deployment is the evidence: the
// release decides only why it does not exist.
func (s *scope) autoscaling() (status metav1.ConditionStatus, reason, message string) {
	least, most := ptr.Deref(s.np.Spec.AutoScaling.Min, 0), s.np.Spec.AutoScaling.Max
	kept := fmt.Sprintf("the pool keeps the number of its nodes within %d and %d", least, most)
	switch {
	case s.hc != nil && s.hc.Annotations[hyperv1.DisableClusterAutoscalerAnnotation] == "true":
		return metav1.ConditionFalse, hyperv1.NodePoolAutoscalerDisabledReason,
			fmt.Sprintf("HostedCluster %s has annotation %s, so that %s: remove the annotation, or set spec.replicas", s.hc.Name, hyperv1.DisableClusterAutoscalerAnnotation, kept)
	case s.paused:
		return metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, "spec.pausedUntil stops the cluster autoscaler too"
	case s.autoscaler != nil && isAvailable(s.autoscaler):
		return metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, fmt.Sprintf("the cluster autoscaler keeps %d to %d nodes", least, most)
	case s.autoscaler == nil && s.control != nil && s.control.Components[names.ClusterAutoscaler] == "":
		return metav1.ConditionFalse, hyperv1.NodePoolAutoscalerMissingReason,
			fmt.Sprintf("release %s of the HostedCluster has no image %s, so that %s: choose a release that has it, or set spec.replicas", s.control.Version, names.ClusterAutoscaler, kept)
	}
	return metav1.ConditionFalse, hyperv1.NodePoolAutoscalerNotAvailableReason,
		fmt.Sprintf("waiting for Deployment %s in namespace %s: until it is available, %s", names.ClusterAutoscaler, s.controlPlane, kept)
}

// isAvailable reports whether a pod of the Deployment is available.
func isAvailable(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue
	})
}

// Annotations from which the cluster autoscaler learns the capacity of a node before one exists.
// https://cluster-api.sigs.k8s.io/tasks/automated-machine-management/autoscaling
const capacityPrefix = "capacity.cluster-autoscaler.kubernetes.io/"

// autoscalerAnnotations enable autoscaling of the pool. The autoscaler ignores a group without them.
func autoscalerAnnotations(s *scope) map[string]string {
	scaling := s.np.Spec.AutoScaling
	if scaling == nil {
		return nil
	}
	out := map[string]string{
		clusterv1.AutoscalerMinSizeAnnotation: strconv.Itoa(int(ptr.Deref(scaling.Min, 0))),
		clusterv1.AutoscalerMaxSizeAnnotation: strconv.Itoa(int(scaling.Max)),
		capacityPrefix + "labels":             capacityLabels(s),
	}
	if len(s.np.Spec.Taints) > 0 {
		out[capacityPrefix+"taints"] = capacityTaints(s.np.Spec.Taints)
	}
	if it := s.instanceType; it != nil {
		out[capacityPrefix+"cpu"] = strconv.FormatInt(it.VCPUs, 10)
		out[capacityPrefix+"memory"] = fmt.Sprintf("%dMi", it.MemoryMiB)
		if it.GPUs > 0 {
			out[capacityPrefix+"gpu-count"] = strconv.FormatInt(it.GPUs, 10)
			out[capacityPrefix+"gpu-type"] = it.GPUMaker + ".com/gpu" // the resource that pods request
		}
	}
	if pods, ok := s.inputs.Pool.Kubelet["maxPods"]; ok {
		out[capacityPrefix+"maxPods"] = fmt.Sprint(pods)
	}
	if v := s.aws().RootVolume; v != nil {
		out[capacityPrefix+"ephemeral-disk"] = fmt.Sprintf("%dGi", v.Size)
	}
	return out
}

// capacityLabels returns the labels that the node will have in addition to those of the user, because pods may require them.
func capacityLabels(s *scope) string {
	labels := map[string]string{
		"kubernetes.io/arch":               string(s.arch()),
		"kubernetes.io/os":                 "linux",
		"node.kubernetes.io/instance-type": s.aws().InstanceType,
	}
	maps.Copy(labels, machineLabels(s))
	var pairs []string
	for _, key := range sortedKeys(labels) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return strings.Join(pairs, ",")
}

func capacityTaints(taints []hyperv1.Taint) string {
	var out []string
	for _, t := range taints {
		out = append(out, fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect))
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}
