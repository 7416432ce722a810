package nodepool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// ensureDeployment applies the MachineDeployment and the MachineHealthCheck.
func (r *Reconciler) ensureDeployment(ctx context.Context, s *scope) error {
	want := []client.Object{desiredDeployment(s)}
	if s.np.Spec.Management.AutoRepair {
		want = append(want, desiredHealthCheck(s))
	}
	if _, err := r.apply.Apply(ctx, poolSet(s), want...); err != nil {
		return err
	}
	return r.scale(ctx, s)
}

// desiredDeployment sets every field, because no webhook adds defaults. It leaves out the number of replicas; see scale.
func desiredDeployment(s *scope) *clusterv1.MachineDeployment {
	md := &clusterv1.MachineDeployment{ObjectMeta: s.clusters(s.np.Name)}
	maps.Copy(md.Annotations, autoscalerAnnotations(s))
	md.Spec = clusterv1.MachineDeploymentSpec{
		ClusterName: s.hc.Spec.InfraID,
		Selector:    metav1.LabelSelector{MatchLabels: s.identity()},
		Rollout:     clusterv1.MachineDeploymentRolloutSpec{Strategy: desiredStrategy(s.np)},
		Template: clusterv1.MachineTemplateSpec{
			ObjectMeta: clusterv1.ObjectMeta{
				Labels:      machineLabels(s),
				Annotations: map[string]string{hyperv1.NodePoolAnnotation: poolKey(s.np)},
			},
			Spec: clusterv1.MachineSpec{
				ClusterName: s.hc.Spec.InfraID,
				Version:     nodeVersion(s.release),
				Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: hyperv1.GroupVersion.Group, Kind: "NodeBootstrapTemplate", Name: s.bootstrap,
				}},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachineTemplate", Name: s.template,
				},
				Deletion: clusterv1.MachineDeletionSpec{
					NodeDrainTimeoutSeconds:        seconds(s.np.Spec.NodeDrainTimeout),
					NodeVolumeDetachTimeoutSeconds: seconds(s.np.Spec.NodeVolumeDetachTimeout),
					NodeDeletionTimeoutSeconds:     ptr.To(nodeDeletionTimeout),
				},
				Taints: machineTaints(s.np.Spec.Taints),
			},
		},
	}
	return md
}

// nodeDeletionTimeout limits how long the deletion of a machine waits for the deletion of its Node, because the hosted API
// server may be gone. It is the default of Cluster API's webhook.
const nodeDeletionTimeout int32 = 10

// nodeVersion returns the version in the format of Cluster API.
func nodeVersion(rel *release.Release) string { return "v" + rel.KubernetesVersion }

func desiredStrategy(np *hyperv1.NodePool) clusterv1.MachineDeploymentRolloutStrategy {
	if strategyOf(np) == hyperv1.UpgradeStrategyOnDelete {
		return clusterv1.MachineDeploymentRolloutStrategy{Type: clusterv1.OnDeleteMachineDeploymentStrategyType}
	}
	surge, unavailable := rollingUpdateOf(np)
	return clusterv1.MachineDeploymentRolloutStrategy{
		Type:          clusterv1.RollingUpdateMachineDeploymentStrategyType,
		RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{MaxSurge: &surge, MaxUnavailable: &unavailable},
	}
}

// machineLabels are propagated to the Nodes when they join and whenever they change.
func machineLabels(s *scope) map[string]string {
	labels := map[string]string{}
	for key, value := range s.np.Spec.NodeLabels {
		labels[key] = string(value)
	}
	maps.Copy(labels, s.identity())
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

// scale sets the number of replicas. It is a write of its own, because the autoscaler writes this field, too: applying it
// with the other fields, from a stale cache, would revert a change of the autoscaler. A conflict means that another writer
// was first, and the reconcile is repeated.
func (r *Reconciler) scale(ctx context.Context, s *scope) error {
	metadata := map[string]any{}
	var have *int32
	if s.deployment != nil {
		have = s.deployment.Spec.Replicas
		metadata["resourceVersion"] = s.deployment.ResourceVersion
	}
	want := desiredReplicas(s.np, have)
	if have != nil && *have == want {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata, "spec": map[string]any{"replicas": want}})
	if err != nil {
		return err
	}
	md := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.controlPlane, Name: s.np.Name}}
	if err := r.Client.Patch(ctx, md, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("scaling MachineDeployment %s: %w", md.Name, err)
	}
	return nil
}
