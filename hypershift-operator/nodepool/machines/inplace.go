package machines

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

// UpdateInPlace applies to existing machines the changes that do not replace them: tags, and the security group of the
// cluster. The AWS provider of Cluster API applies them to EC2. Cluster API applies labels, taints and timeouts by itself.
func (a Applier) UpdateInPlace(ctx context.Context, s *Spec) error {
	desired := desiredMachine(s)
	for i := range s.AWSMachines {
		m := &s.AWSMachines[i]
		change := changeInPlace(m, desired, s.Current.Template)
		if !m.DeletionTimestamp.IsZero() || len(change) == 0 {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Changing tags or security groups", "AWSMachine", m.Name)
		if err := a.Client.Patch(ctx, m, mergepatch.Spec(change)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("changing AWSMachine %s: %w", m.Name, err)
		}
	}
	return nil
}

// changeInPlace returns the merge patch for the spec of a machine. Machines of earlier templates keep their additional
// security groups until they are replaced.
func changeInPlace(m *infrav1.AWSMachine, desired infrav1.AWSMachineSpec, template string) map[string]any {
	change := map[string]any{}
	if !maps.Equal(m.Spec.AdditionalTags, desired.AdditionalTags) {
		change["additionalTags"] = replacing(m.Spec.AdditionalTags, desired.AdditionalTags)
	}
	templated := m.Annotations[clusterv1.TemplateClonedFromNameAnnotation] == template
	if templated && !equality.Semantic.DeepEqual(m.Spec.AdditionalSecurityGroups, desired.AdditionalSecurityGroups) {
		change["additionalSecurityGroups"] = desired.AdditionalSecurityGroups
	}
	return change
}

// replacing returns the merge patch that turns one map into another.
func replacing(current, desired map[string]string) map[string]any {
	patch := map[string]any{}
	for key := range current {
		patch[key] = nil
	}
	for key, value := range desired {
		patch[key] = value
	}
	return patch
}
