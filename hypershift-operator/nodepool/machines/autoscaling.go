package machines

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
)

// DesiredReplicas returns the replicas of the NodePool. With autoscaling it returns the autoscaler's number, within its
// bounds. current is nil if the autoscaler has not set it.
func DesiredReplicas(np *hyperv1.NodePool, current *int32) int32 {
	scaling := np.Spec.AutoScaling
	if scaling == nil {
		return ptr.Deref(np.Spec.Replicas, 0)
	}
	least := ptr.Deref(scaling.Min, 0)
	return min(max(ptr.Deref(current, least), least), scaling.Max)
}

// desiredReplicas returns the replicas of the MachineDeployment, which has none before machines of a cluster that falls asleep are
// deleted. Until the cluster wakes, they stay as they are: nothing drains nodes without an API server. A cluster that is deleted
// wakes for its cloud resources only.
func desiredReplicas(p *objects.Pool, current *int32) int32 {
	deleted := p.HostedCluster != nil && !p.HostedCluster.DeletionTimestamp.IsZero()
	switch phase := p.HostedControlPlane.SleepPhase(); {
	case phase == hyperv1.SleepPhaseRemovingMachines:
		return 0
	case phase == hyperv1.SleepPhaseAsleep, phase == hyperv1.SleepPhaseWaking && deleted:
		return ptr.Deref(current, 0)
	}
	return DesiredReplicas(p.NodePool, current)
}

// Replicas returns how many machines the pool shall have now.
func Replicas(p *objects.Pool) int32 {
	if p.MachineDeployment != nil && p.MachineDeployment.Spec.Replicas != nil {
		return *p.MachineDeployment.Spec.Replicas
	}
	return DesiredReplicas(p.NodePool, nil)
}

// Annotations from which the cluster autoscaler learns the capacity of a node before one exists.
// https://cluster-api.sigs.k8s.io/tasks/automated-machine-management/autoscaling
const capacityPrefix = "capacity.cluster-autoscaler.kubernetes.io/"

// autoscalerAnnotations enable autoscaling of the pool. The autoscaler ignores a group without them.
func autoscalerAnnotations(s *Spec) map[string]string {
	scaling := s.NodePool.Spec.AutoScaling
	if scaling == nil || s.HostedControlPlane.SleepPhase() == hyperv1.SleepPhaseRemovingMachines {
		return nil
	}
	out := map[string]string{
		clusterv1.AutoscalerMinSizeAnnotation: strconv.Itoa(int(ptr.Deref(scaling.Min, 0))),
		clusterv1.AutoscalerMaxSizeAnnotation: strconv.Itoa(int(scaling.Max)),
		capacityPrefix + "labels":             capacityLabels(s),
	}
	if len(s.NodePool.Spec.Taints) > 0 {
		out[capacityPrefix+"taints"] = capacityTaints(s.NodePool.Spec.Taints)
	}
	if it := s.InstanceType; it != nil {
		out[capacityPrefix+"cpu"] = strconv.FormatInt(it.VCPUs, 10)
		out[capacityPrefix+"memory"] = fmt.Sprintf("%dMi", it.MemoryMiB)
		if it.GPUs > 0 {
			out[capacityPrefix+"gpu-count"] = strconv.FormatInt(it.GPUs, 10)
			out[capacityPrefix+"gpu-type"] = it.GPUMaker + ".com/gpu" // the resource that pods request
		}
	}
	if pods, ok := s.UserData.Pool.Kubelet["maxPods"]; ok {
		out[capacityPrefix+"maxPods"] = fmt.Sprint(pods)
	}
	if v := s.AWS().RootVolume; v != nil {
		out[capacityPrefix+"ephemeral-disk"] = fmt.Sprintf("%dGi", v.Size)
	}
	return out
}

// capacityLabels returns the labels that the node will have in addition to the labels of the user, because pods may require them.
func capacityLabels(s *Spec) string {
	labels := map[string]string{
		"kubernetes.io/arch":               string(s.Arch()),
		"kubernetes.io/os":                 "linux",
		"node.kubernetes.io/instance-type": s.AWS().InstanceType,
	}
	maps.Copy(labels, machineLabels(s))
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
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
