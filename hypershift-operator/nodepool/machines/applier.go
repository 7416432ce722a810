package machines

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Applier applies the objects of pools.
type Applier struct {
	Client   client.Client
	Apply    *apply.Applier
	Recorder events.EventRecorder
}

// EnsureTemplate applies the template of new machines, and sets Current.Template. Other machines have another template; the former
// one stays while a machine refers to it.
func (a Applier) EnsureTemplate(ctx context.Context, s *Spec) error {
	desired, err := desiredTemplate(s)
	if err != nil {
		return err
	}
	if err := a.replaceEdited(ctx, s, desired); err != nil {
		return err
	}
	if _, err := a.Apply.Apply(ctx, apply.Set{Name: objects.TemplatesSet, Namespace: s.Namespace}, desired); err != nil {
		return err
	}
	s.Current.Template = desired.Name
	return nil
}

// replaceEdited deletes a template in which another writer has set fields that we do not set. Applying ours would not remove
// these fields, and machines of the same template would differ.
func (a Applier) replaceEdited(ctx context.Context, s *Spec, desired *infrav1.AWSMachineTemplate) error {
	for i := range s.Templates {
		current := &s.Templates[i]
		if current.Name != desired.Name || !current.DeletionTimestamp.IsZero() || !edited(current, desired) {
			continue
		}
		a.Recorder.Eventf(s.NodePool, current, corev1.EventTypeWarning, "TemplateReplaced", "Reconcile",
			"AWSMachineTemplate %s was not what this pool asks for and is made again; delete machines that were made from it meanwhile", current.Name)
		if err := reconcile.Delete(ctx, a.Client, current); err != nil {
			return err
		}
	}
	return nil
}

// EnsureUserData stores the inputs of the user data in a Secret, creates the template that refers to it, and sets
// Current.Bootstrap and Current.Config. The hash of the inputs is part of both names, so that other inputs are another template
// and other machines.
func (a Applier) EnsureUserData(ctx context.Context, s *Spec) error {
	secret, err := desiredConfig(s)
	if err != nil {
		return err
	}
	template, err := desiredBootstrap(s, secret.Name)
	if err != nil {
		return err
	}
	if _, err := a.Apply.Apply(ctx, apply.Set{Name: objects.ConfigsSet, Namespace: s.Namespace}, secret); err != nil {
		return err
	}
	if _, err := a.Apply.Apply(ctx, apply.Set{Name: objects.TemplatesSet, Namespace: s.Namespace}, template); err != nil {
		return err
	}
	s.Current.Bootstrap, s.Current.Config = template.Name, secret.Name
	return nil
}

// EnsureDeployment applies the MachineDeployment and the MachineHealthCheck.
func (a Applier) EnsureDeployment(ctx context.Context, s *Spec) error {
	desired := []client.Object{desiredDeployment(s)}
	if s.NodePool.Spec.Management.AutoRepair {
		desired = append(desired, desiredHealthCheck(s))
	}
	if _, err := a.Apply.Apply(ctx, deploymentSet(s), desired...); err != nil {
		return err
	}
	return a.scale(ctx, s)
}

// deploymentSet is the pool's MachineDeployment and MachineHealthCheck. The name of a pool may be longer than the value of a label.
func deploymentSet(s *Spec) apply.Set {
	sum := sha256.Sum256([]byte(s.NodePool.Name))
	return apply.Set{
		Name:      "pool-" + hex.EncodeToString(sum[:hashBytes]),
		Namespace: s.Namespace,
		Kinds:     []client.ObjectList{&clusterv1.MachineDeploymentList{}, &clusterv1.MachineHealthCheckList{}},
	}
}

// scale sets the number of replicas. It is a write of its own, because the autoscaler writes this field, too: applying it
// with the other fields, from a stale cache, would revert a change of the autoscaler. A conflict means that another writer
// was first, and the reconcile is repeated.
func (a Applier) scale(ctx context.Context, s *Spec) error {
	metadata := map[string]any{}
	var current *int32
	if s.MachineDeployment != nil {
		current = s.MachineDeployment.Spec.Replicas
		metadata["resourceVersion"] = s.MachineDeployment.ResourceVersion
	}
	desired := desiredReplicas(s.Pool, current)
	if current != nil && *current == desired {
		return nil
	}
	patch := mergepatch.Patch{"metadata": metadata, "spec": map[string]any{"replicas": desired}}
	md := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NodePool.Name}}
	if err := a.Client.Patch(ctx, md, patch); err != nil {
		return fmt.Errorf("scaling MachineDeployment %s: %w", md.Name, err)
	}
	return nil
}
