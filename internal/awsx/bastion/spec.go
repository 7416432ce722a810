package bastion

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Spec is what a user asks for.
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

// images are the parameters of Systems Manager in which AWS publishes the newest image of Amazon Linux 2023. Each of these images
// has the agent.
var images = map[string]string{
	"amd64": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
	"arm64": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64",
}

// The root volume of these images has this name. They need 8 GiB.
const (
	rootDevice = "/dev/xvda"
	rootSize   = 16
)

var instanceTypes = map[string]string{"amd64": "t3.micro", "arm64": "t4g.micro"}

func (s Spec) instanceType() string { return cmp.Or(s.InstanceType, instanceTypes[s.Arch]) }

// image lets EC2 read the parameter, which needs ssm:GetParameters.
func (s Spec) image() string { return "resolve:ssm:" + images[s.Arch] }

// Validate returns what is wrong, before any call of AWS. Paths are names of flags.
func (s Spec) Validate() field.ErrorList {
	var errs field.ErrorList
	flag := func(name string) *field.Path { return field.NewPath("--" + name) }
	if s.InfraID == "" {
		errs = append(errs, field.Required(flag("infra-id"), ""))
	}
	if images[s.Arch] == "" {
		errs = append(errs, field.NotSupported(flag("arch"), s.Arch, []string{"amd64", "arm64"}))
	}
	if s.SubnetID != "" && !strings.HasPrefix(s.SubnetID, "subnet-") {
		errs = append(errs, field.Invalid(flag("subnet-id"), s.SubnetID, "must be the id of a subnet"))
	}
	for key := range s.Tags {
		if strings.HasPrefix(key, "aws:") || strings.HasPrefix(key, names.ClusterTag("")) {
			errs = append(errs, field.Invalid(flag("additional-tags"), key, "is reserved"))
		}
	}
	return errs
}

// Owner is the owner of the resources.
func (s Spec) Owner() awsgraph.Owner {
	return awsgraph.Owner{InfraID: s.InfraID, Name: s.Name, Tags: s.Tags}
}
