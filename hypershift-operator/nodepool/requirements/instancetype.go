package requirements

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
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

// InstanceType refuses instance types that the region does not have, or that differ in architecture from the nodes. An installation
// without permission for EC2 uses the capacity that Cluster API's AWS provider writes into the status of a template, and accepts any
// type before that: types is then nil, and the returned type, too.
func InstanceType(ctx context.Context, types InstanceTypes, p *objects.Pool) (*instancetypes.Type, error) {
	name := p.AWS().InstanceType
	reason := "start the hypershift-operator with --private-platform=AWS"
	if types != nil {
		it, err := types.Describe(ctx, p.Region(), name)
		if err == nil {
			return it, blockOn(checkType(it, name, p.Arch(), p.Region()))
		}
		if awsx.IsTransient(err) {
			return nil, err
		}
		reason = awsx.Message(err)
	}
	errs, reported := checkReported(p.Templates, name, p.Arch())
	if !reported {
		return nil, reconcile.Unverified(hyperv1.StatusUnknownReason, "this installation could not ask EC2 about instance type %s: %s", name, reason)
	}
	return nil, blockOn(errs)
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

// checkReported reads the capacity that the AWS provider of Cluster API has written into the status of a template. reported is
// false without a report.
func checkReported(templates []infrav1.AWSMachineTemplate, name string, arch hyperv1.Architecture) (errs field.ErrorList, reported bool) {
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
