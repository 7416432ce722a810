package machines

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// desiredDeployment sets every field, because no webhook adds defaults. It leaves out the number of replicas; see Applier.scale.
func desiredDeployment(s *Spec) *clusterv1.MachineDeployment {
	md := &clusterv1.MachineDeployment{ObjectMeta: s.clusterMeta(s.NodePool.Name)}
	maps.Copy(md.Annotations, autoscalerAnnotations(s))
	md.Spec = clusterv1.MachineDeploymentSpec{
		ClusterName: s.HostedCluster.Spec.InfraID,
		Selector:    metav1.LabelSelector{MatchLabels: s.Identity()},
		Rollout:     clusterv1.MachineDeploymentRolloutSpec{Strategy: desiredStrategy(s.NodePool)},
		Template: clusterv1.MachineTemplateSpec{
			ObjectMeta: clusterv1.ObjectMeta{
				Labels:      machineLabels(s),
				Annotations: map[string]string{hyperv1.NodePoolAnnotation: objects.Key(s.NodePool)},
			},
			Spec: clusterv1.MachineSpec{
				ClusterName: s.HostedCluster.Spec.InfraID,
				Version:     NodeVersion(s.Release),
				Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: hyperv1.GroupVersion.Group, Kind: "NodeBootstrapTemplate", Name: s.Current.Bootstrap,
				}},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachineTemplate", Name: s.Current.Template,
				},
				Deletion: clusterv1.MachineDeletionSpec{
					NodeDrainTimeoutSeconds:        seconds(s.NodePool.Spec.NodeDrainTimeout),
					NodeVolumeDetachTimeoutSeconds: seconds(s.NodePool.Spec.NodeVolumeDetachTimeout),
					NodeDeletionTimeoutSeconds:     ptr.To(nodeDeletionTimeout),
				},
				Taints: machineTaints(s.NodePool.Spec.Taints),
			},
		},
	}
	return md
}

// nodeDeletionTimeout limits how long the deletion of a machine waits for the deletion of its Node, because the hosted API
// server may be gone. It is the default of Cluster API's webhook.
const nodeDeletionTimeout int32 = 10

// NodeVersion returns the version in the format of Cluster API.
func NodeVersion(rel *release.Release) string { return "v" + rel.KubernetesVersion }

func desiredStrategy(np *hyperv1.NodePool) clusterv1.MachineDeploymentRolloutStrategy {
	if Strategy(np) == hyperv1.UpgradeStrategyOnDelete {
		return clusterv1.MachineDeploymentRolloutStrategy{Type: clusterv1.OnDeleteMachineDeploymentStrategyType}
	}
	surge, unavailable := RollingUpdate(np)
	return clusterv1.MachineDeploymentRolloutStrategy{
		Type:          clusterv1.RollingUpdateMachineDeploymentStrategyType,
		RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{MaxSurge: &surge, MaxUnavailable: &unavailable},
	}
}

// machineLabels are propagated to the Nodes when they join and whenever they change.
func machineLabels(s *Spec) map[string]string {
	labels := map[string]string{}
	for key, value := range s.NodePool.Spec.NodeLabels {
		labels[key] = string(value)
	}
	maps.Copy(labels, s.Identity())
	return labels
}

func machineTaints(taints []hyperv1.Taint) []clusterv1.MachineTaint {
	var out []clusterv1.MachineTaint
	for _, t := range taints {
		out = append(out, clusterv1.MachineTaint{
			Key: t.Key, Value: string(t.Value), Effect: corev1.TaintEffect(t.Effect), Propagation: clusterv1.MachineTaintPropagationAlways,
		})
	}
	return out
}

// seconds returns nil for a timeout that is not set. Cluster API then waits without a limit, as it does for zero.
func seconds(d *metav1.Duration) *int32 {
	if d == nil {
		return nil
	}
	return wholeSeconds(d.Duration)
}
