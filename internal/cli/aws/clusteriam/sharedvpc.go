package clusteriam

import (
	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Roles in the account of a shared VPC. Other hypershift command lines use the same names.
const (
	sharedVPCIngress      = "shared-vpc-route53"
	sharedVPCControlPlane = "shared-vpc-endpoint"
)

// sharedVPCSuffixes are the names that a command line may have created, for deletion.
var sharedVPCSuffixes = []string{sharedVPCIngress, sharedVPCControlPlane, "shared-vpc-ingress", "shared-vpc-control-plane"}

// sharedVPC returns the roles in the account of the VPC, and the policies that allow the roles of the cluster to assume them.
func (b builder) sharedVPC() []*rg.Node {
	var nodes []*rg.Node
	// A role that trusts another one can only be created after it.
	owned := func(suffix, file string, trusted ...role) {
		var principals, dependsOn []string
		for _, r := range trusted {
			principals = append(principals, b.arn("role/"+b.roleName(r)))
			dependsOn = append(dependsOn, r.node())
		}
		id, name := "role/"+suffix, b.InfraID+"-"+suffix
		nodes = append(nodes,
			b.vpcOwner.Role(iamrole.Role{ID: id, Name: name, DependsOn: dependsOn, Trust: iamrole.Document(map[string]any{
				"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": map[string]any{"AWS": principals},
			})}),
			b.vpcOwner.Policy(iamrole.Policy{ID: "policy/" + suffix, Name: name, RoleID: id, RoleName: name, DependsOn: b.inputs(), Document: func(ids rg.IDs) (string, error) {
				return b.fill(file, ids)
			}}))
	}
	owned(sharedVPCIngress, iam.SharedVPCIngress, controlPlaneOperator, ingress)
	owned(sharedVPCControlPlane, iam.SharedVPCControlPlane, controlPlaneOperator)

	assume := func(r role, document func() (string, error)) {
		nodes = append(nodes, b.Policy(iamrole.Policy{
			ID: "policy/" + r.suffix + "-assume", Name: b.InfraID + "-" + r.suffix + "-assume", RoleID: r.node(), RoleName: b.roleName(r),
			Document: func(rg.IDs) (string, error) { return document() },
		}))
	}
	assume(controlPlaneOperator, func() (string, error) {
		return iamrole.Fill(iam.SharedVPCRoles, b.Partition, map[string]string{
			"SHARED_VPC_CONTROL_PLANE_ROLE": b.ownerARN(sharedVPCControlPlane), "SHARED_VPC_INGRESS_ROLE": b.ownerARN(sharedVPCIngress),
		})
	})
	assume(ingress, func() (string, error) {
		return iamrole.Document(map[string]any{"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": b.ownerARN(sharedVPCIngress)}), nil
	})
	return nodes
}
