package clusteriam

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awstemplate"
)

// withoutBaseDomain is true if the ids of the zones are known, and there are none in a base domain.
func (s Spec) withoutBaseDomain() bool { return s.Inputs.LocalZone != (Input{}) && !s.hasBaseDomain() }

// Template returns a document that creates the resources of a spec, in any account. The ids of the inputs and the issuer are
// parameters: a value in the spec is the default. The VPC belongs to the same account.
func Template(s Spec) awstemplate.Document {
	issuer := awstemplate.Parameter{
		Name: "Issuer", Variable: "issuer", Default: s.issuer(),
		Description: "URL of the issuer of the cluster, without https://",
	}
	parameters := []awstemplate.Parameter{issuer}
	s.IssuerURL = "https://" + issuer.Reference()
	s.Account, s.Partition = awstemplate.Account, awstemplate.Partition
	type input struct {
		input                       *Input
		name, variable, description string
	}
	inputs := []input{
		{&s.Inputs.VPC, "VPCID", "vpc_id", "ID of the VPC of the cluster"},
		{&s.Inputs.LocalZone, "LocalZoneID", "local_zone_id", "ID of the private hosted zone of the cluster below hypershift.local"},
	}
	if !s.withoutBaseDomain() {
		inputs = append(inputs,
			input{&s.Inputs.PublicZone, "PublicZoneID", "public_zone_id", "ID of the public hosted zone"},
			input{&s.Inputs.PrivateZone, "PrivateZoneID", "private_zone_id", "ID of the private hosted zone in the base domain"})
	}
	for _, in := range inputs {
		p := awstemplate.Parameter{Name: in.name, Variable: in.variable, Description: in.description, Default: in.input.ID}
		parameters = append(parameters, p)
		*in.input = Input{ID: p.Reference()}
	}
	return awstemplate.Document{
		Description: "Identity provider and roles of the hosted cluster " + s.InfraID,
		Nodes:       NewCloud(aws.Config{Region: s.Region}, s.Owner()).Nodes(s),
		Parameters:  parameters,
		Outputs: []awstemplate.Output{
			{Name: "IAMJSON", Variable: "iam", Description: "Content of the file of --iam-json", Value: NewOutput(s)},
		},
	}
}

// ValidateForTemplate returns the problems. The issuer and the ids may be missing.
func (s Spec) ValidateForTemplate() field.ErrorList {
	if s.IssuerURL == "" {
		s.IssuerURL = "https://parameter"
	}
	withoutBaseDomain := s.withoutBaseDomain()
	for _, in := range []*Input{&s.Inputs.PublicZone, &s.Inputs.PrivateZone, &s.Inputs.LocalZone} {
		if *in == (Input{}) && !withoutBaseDomain {
			in.Node = "parameter"
		}
	}
	return s.Validate()
}
