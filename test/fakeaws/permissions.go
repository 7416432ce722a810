package fakeaws

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

func init() {
	register(EC2,
		write("ModifyVpcEndpointServicePermissions", (*request).modifyPermissions, "ServiceId", "AddAllowedPrincipals", "RemoveAllowedPrincipals"),
		read("DescribeVpcEndpointServicePermissions", (*request).describePermissions, "ServiceId", "Filters", "MaxResults", "NextToken"),
	)
}

// principal is a principal that may connect to a service.
type principal struct {
	meta
	arn string
}

var principalAttributes = attributes[*principal]{
	"principal":      one(func(p *principal) string { return p.arn }),
	"principal-type": one(func(p *principal) string { return string(p.kind()) }),
}

// principalARN matches the ARNs that AWS accepts: a session's ARN is refused with InvalidPrincipal,
// see https://github.com/hashicorp/terraform-provider-aws/issues/16657.
var principalARN = regexp.MustCompile(`^(\*|arn:aws[a-z-]*:iam::(\d{12}):(root|(user|role)/[\w+=,.@/-]+))$`)

func (p *principal) kind() types.PrincipalType {
	m := principalARN.FindStringSubmatch(p.arn)
	switch {
	case p.arn == "*":
		return types.PrincipalTypeAll
	case m[3] == "root":
		return types.PrincipalTypeAccount
	case m[4] == "user":
		return types.PrincipalTypeUser
	}
	return types.PrincipalTypeRole
}

// allows says whether the caller may connect: the owner's account always, others
// if they, their account or everybody is listed. A role is matched without its path.
func (s *service) allows(who *identity) bool {
	if who.account == s.region.account.id {
		return true
	}
	for _, arn := range []string{"*", "arn:aws:iam::" + who.account + ":root", who.principal()} {
		if s.principals[arn] != nil {
			return true
		}
	}
	return false
}

// exists is false for a role that its account does not have. The fake has no users, and an account has all roles until a test adds one.
func (c *Cloud) exists(arn string) bool {
	m := principalARN.FindStringSubmatch(arn)
	account := c.accounts[m[2]]
	if account == nil || len(account.roles) == 0 || m[4] != "role" {
		return true
	}
	return account.roles[arn[strings.LastIndex(arn, "/")+1:]] != nil
}

// modifyPermissions is atomic; adding an existing principal and removing a missing one succeed.
func (q *request) modifyPermissions(in *ec2.ModifyVpcEndpointServicePermissionsInput) (*ec2.ModifyVpcEndpointServicePermissionsOutput, error) {
	s, err := q.region.services.find(q, *in.ServiceId)
	if err != nil {
		return nil, err
	}
	for _, arn := range in.AddAllowedPrincipals {
		if !principalARN.MatchString(arn) {
			return nil, ec2Error("InvalidPrincipal", "Invalid Principal: '"+arn+"'")
		}
		if rule := awsrules.Get("privatelink-principal"); !q.cloud.exists(arn) {
			return nil, ec2Error(rule.Code, rule.Text(arn))
		}
	}
	out := &ec2.ModifyVpcEndpointServicePermissionsOutput{ReturnValue: aws.Bool(true)}
	for _, arn := range in.RemoveAllowedPrincipals {
		delete(s.principals, arn)
	}
	for _, arn := range in.AddAllowedPrincipals {
		if s.principals[arn] != nil {
			continue
		}
		p := &principal{meta: q.made("vpce-svc-perm", nil), arn: arn}
		s.principals[arn] = p
		out.AddedPrincipals = append(out.AddedPrincipals, types.AddedPrincipal{
			Principal: aws.String(arn), PrincipalType: p.kind(), ServiceId: aws.String(s.id), ServicePermissionId: aws.String(p.id)})
	}
	return out, nil
}

func (q *request) describePermissions(in *ec2.DescribeVpcEndpointServicePermissionsInput) (*ec2.DescribeVpcEndpointServicePermissionsOutput, error) {
	s, err := q.region.services.find(q, *in.ServiceId)
	if err != nil {
		return nil, err
	}
	found, next, err := list(q, storeOf(s.principals), nil, in.Filters, principalAttributes, page{in.MaxResults, in.NextToken, 1})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcEndpointServicePermissionsOutput{NextToken: next}
	for _, p := range found {
		out.AllowedPrincipals = append(out.AllowedPrincipals, types.AllowedPrincipal{
			Principal: aws.String(p.arn), PrincipalType: p.kind(), ServiceId: aws.String(s.id), ServicePermissionId: aws.String(p.id)})
	}
	return out, nil
}
