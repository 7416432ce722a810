package objects

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

// Sets of objects in the control plane namespace. Templates and configurations are not pruned as a set: MachineSets refer to earlier
// ones, and their content cannot be written again.
const (
	TemplatesSet = "node-templates"
	ConfigsSet   = "node-configs"
)

// Sets returns the sets with Secrets that a cache must keep.
func Sets() []string { return []string{ConfigsSet} }

// Prune deletes templates, and their Secrets, that no MachineSet creates machines from. The current ones stay.
func (p *Pool) Prune(ctx context.Context, c client.Client, current Current) error {
	used := map[string]bool{current.Template: true, current.Bootstrap: true}
	use := func(m clusterv1.MachineSpec) {
		used[m.InfrastructureRef.Name], used[m.Bootstrap.ConfigRef.Name] = true, true
	}
	if p.MachineDeployment != nil {
		use(p.MachineDeployment.Spec.Template.Spec) // Cluster API may not have created its MachineSet yet
	}
	for _, set := range p.MachineSets {
		use(set.Spec.Template.Spec)
	}
	configs, err := p.Configs(ctx, c)
	if err != nil {
		return err
	}
	var outdated []client.Object
	usedConfigs := map[string]bool{current.Config: true}
	for i := range p.Bootstraps {
		if b := &p.Bootstraps[i]; used[b.Name] {
			usedConfigs[b.Spec.Template.Spec.ConfigName] = true
		} else {
			outdated = append(outdated, b)
		}
	}
	for i := range p.Templates {
		if t := &p.Templates[i]; !used[t.Name] {
			outdated = append(outdated, t)
		}
	}
	for i := range configs {
		if secret := &configs[i]; !usedConfigs[secret.Name] {
			outdated = append(outdated, secret)
		}
	}
	return DeleteAll(ctx, c, outdated)
}

// Current names the objects that new machines are created from. The names are empty until the objects have been applied.
type Current struct {
	// Template is the AWSMachineTemplate, Bootstrap the NodeBootstrapTemplate, and Config the Secret of the latter.
	Template, Bootstrap, Config string
}

// Configs lists the pool's Secrets with inputs of user data.
func (p *Pool) Configs(ctx context.Context, c client.Reader) ([]corev1.Secret, error) {
	var list corev1.SecretList
	err := c.List(ctx, &list, client.InNamespace(p.Namespace), client.MatchingLabels{
		hyperv1.NodePoolLabel: p.NodePool.Name, apply.InventoryLabel: names.HypershiftOperator + "." + ConfigsSet,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the node configurations of pool %s: %w", p.NodePool.Name, err)
	}
	return list.Items, nil
}

// DeleteAll deletes objects that are not being deleted yet.
func DeleteAll(ctx context.Context, c client.Client, objs []client.Object) error {
	for _, obj := range objs {
		if err := reconcile.Delete(ctx, c, obj); err != nil {
			return err
		}
	}
	return nil
}
