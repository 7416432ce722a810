package bastion

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/machine"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Spec is the user's request.
type Spec struct {
	InfraID string
	// Name is the name of the cluster, or empty if it is not known.
	Name   string
	Region string
	// SubnetID is the subnet of the instance. Default: the first private subnet with the tag of the cluster.
	SubnetID string
	// Arch is amd64 or arm64.
	Arch         string
	InstanceType string
	Tags         awsx.Tags
}

var instanceTypes = map[string]string{"amd64": "t3.micro", "arm64": "t4g.micro"}

func (s Spec) instanceType() string { return cmp.Or(s.InstanceType, instanceTypes[s.Arch]) }

// Validate returns the problems, before any call of AWS. Paths are names of flags.
func (s Spec) Validate() field.ErrorList {
	var errs field.ErrorList
	flag := func(name string) *field.Path { return field.NewPath("--" + name) }
	if s.InfraID == "" {
		errs = append(errs, field.Required(flag("infra-id"), ""))
	}
	if all := machine.Architectures(); !slices.Contains(all, s.Arch) {
		errs = append(errs, field.NotSupported(flag("arch"), s.Arch, all))
	}
	if s.SubnetID != "" && !strings.HasPrefix(s.SubnetID, "subnet-") {
		errs = append(errs, field.Invalid(flag("subnet-id"), s.SubnetID, "must be the id of a subnet"))
	}
	return append(errs, s.Tags.Validate(flag("additional-tags"), names.IsClusterTag)...)
}

// Owner is the owner of the resources.
func (s Spec) Owner() awsgraph.Owner {
	return awsgraph.Owner{InfraID: s.InfraID, Name: s.Name, Tags: s.Tags}
}
