package infra

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awstemplate"
)

// Template returns a document that creates the resources of a valid spec, for one region and with the zones of the spec.
func Template(s Spec) awstemplate.Document {
	outputs := []awstemplate.Output{
		{Name: "InfraJSON", Variable: "infra", Description: "Content of the file of --infra-json", Value: NewOutput(s, awstemplate.ID)},
		{Name: "VPCID", Variable: "vpc_id", Description: "ID of the VPC", Value: awstemplate.ID(VPC)},
	}
	if s.BaseDomain != "" {
		outputs = append(outputs,
			awstemplate.Output{Name: "PublicZoneID", Variable: "public_zone_id", Description: "ID of the public hosted zone", Value: awstemplate.ID(PublicZone)},
			awstemplate.Output{Name: "PrivateZoneID", Variable: "private_zone_id", Description: "ID of the private hosted zone in the base domain", Value: awstemplate.ID(PrivateZone)},
		)
	}
	return awstemplate.Document{
		Description: "Network and hosted zones of the hosted cluster " + s.InfraID,
		Nodes:       NewCloud(aws.Config{Region: s.Region}, s.Owner()).Nodes(s),
		Region:      s.Region,
		Outputs: append(outputs, awstemplate.Output{
			Name: "LocalZoneID", Variable: "local_zone_id", Description: "ID of the private hosted zone " + localZone(s.Name), Value: awstemplate.ID(LocalZone),
		}),
	}
}
