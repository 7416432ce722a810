package nodepool

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Sets of objects in the namespace of the control plane. Templates and configurations are not pruned as a set: MachineSets
// refer to earlier ones, and their content cannot be written again.
const (
	setTemplates = "node-templates"
	setConfigs   = "node-configs"
)

// Sets returns the sets with Secrets that the cache must keep.
func Sets() []string { return []string{setConfigs} }

// prune deletes templates, and their Secrets, that no MachineSet creates machines from.
func (r *Reconciler) prune(ctx context.Context, s *scope) error {
	used := map[string]bool{s.template: true, s.bootstrap: true}
	use := func(m clusterv1.MachineSpec) {
		used[m.InfrastructureRef.Name], used[m.Bootstrap.ConfigRef.Name] = true, true
	}
	if s.deployment != nil {
		use(s.deployment.Spec.Template.Spec) // Cluster API may not have created its MachineSet yet
	}
	for _, set := range s.machineSets {
		use(set.Spec.Template.Spec)
	}
	configs, err := r.configs(ctx, r.Client, s)
	if err != nil {
		return err
	}
	var old []client.Object
	kept := map[string]bool{s.nodeConfig: true}
	for i := range s.bootstraps {
		if b := &s.bootstraps[i]; used[b.Name] {
			kept[b.Spec.Template.Spec.ConfigName] = true
		} else {
			old = append(old, b)
		}
	}
	for i := range s.templates {
		if t := &s.templates[i]; !used[t.Name] {
			old = append(old, t)
		}
	}
	for i := range configs {
		if c := &configs[i]; !kept[c.Name] {
			old = append(old, c)
		}
	}
	return r.deleteAll(ctx, old)
}

// configs lists the Secrets with inputs of user data of the pool.
func (r *Reconciler) configs(ctx context.Context, c client.Reader, s *scope) ([]corev1.Secret, error) {
	var list corev1.SecretList
	err := c.List(ctx, &list, client.InNamespace(s.controlPlane), client.MatchingLabels{
		hyperv1.NodePoolLabel: s.np.Name, apply.InventoryLabel: names.HypershiftOperator + "." + setConfigs,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the node configurations of pool %s: %w", s.np.Name, err)
	}
	return list.Items, nil
}

func (r *Reconciler) deleteAll(ctx context.Context, objs []client.Object) error {
	for _, obj := range objs {
		if err := r.delete(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes an object that is not being deleted yet.
func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	return reconcile.Delete(ctx, r.Client, obj)
}
