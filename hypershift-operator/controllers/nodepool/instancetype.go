package nodepool

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// InstanceTypes describes instance types.
type InstanceTypes interface {
	// Describe returns nil for a type that the region does not have.
	Describe(ctx context.Context, region, name string) (*instancetypes.Type, error)
}

// checkInstanceType refuses instance types that the region does not have, or that differ in architecture from the
// nodes. An installation without permission for EC2 uses what the AWS provider of Cluster API has written into the status of
// a template, and accepts any type before that.
func (r *Reconciler) checkInstanceType(ctx context.Context, s *scope) error {
	name := s.aws().InstanceType
	why := "start the hypershift-operator with --private-platform=AWS"
	if r.InstanceTypes != nil {
		it, err := r.InstanceTypes.Describe(ctx, s.region(), name)
		if err == nil {
			s.instanceType = it
			return blockOn(checkType(it, name, s.arch(), s.region()))
		}
		if awsx.IsTransient(err) {
			return err
		}
		why = awsx.Message(err)
	}
	errs, known := checkReported(s.templates, name, s.arch())
	if !known {
		return reconcile.Unverified(hyperv1.StatusUnknownReason, "this installation could not ask EC2 about instance type %s: %s", name, why)
	}
	return blockOn(errs)
}

var instanceTypePath = field.NewPath("spec", "platform", "aws", "instanceType")

func checkType(it *instancetypes.Type, name string, arch hyperv1.Architecture, region string) field.ErrorList {
	switch {
	case it == nil:
		return field.ErrorList{validation.Errorf(hyperv1.NodePoolUnknownInstanceTypeReason, instanceTypePath, name, "EC2 has no instance type %s in region %s: change platform.aws.instanceType", name, region)}
	case !slices.Contains(it.Architectures, string(arch)):
		return field.ErrorList{wrongArch(name, arch)}
	}
	return nil
}

func wrongArch(name string, arch hyperv1.Architecture) *field.Error {
	return validation.Errorf(hyperv1.NodePoolArchMismatchReason, instanceTypePath, name, "machines of instance type %s do not have arch %s: change platform.aws.instanceType, or create a pool with another arch", name, arch)
}

// checkReported reads the capacity that the AWS provider of Cluster API has written into the status of a template. known is
// false if there is none.
func checkReported(templates []infrav1.AWSMachineTemplate, name string, arch hyperv1.Architecture) (errs field.ErrorList, known bool) {
	for _, t := range templates {
		if t.Spec.Template.Spec.InstanceType != name || t.Status.NodeInfo == nil || t.Status.NodeInfo.Architecture == "" {
			continue
		}
		if string(t.Status.NodeInfo.Architecture) != string(arch) {
			return field.ErrorList{wrongArch(name, arch)}, true
		}
		return nil, true
	}
	return nil, false
}
