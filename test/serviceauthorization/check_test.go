package serviceauthorization

import (
	"fmt"
	"strings"
	"testing"
)

// AWS accepts each of these policies, but they allow or deny something else than they seem to.
func TestPoliciesThatDoNotDoWhatTheySayAreFound(t *testing.T) {
	reference, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	statement := func(action, resource, condition string) string {
		if condition != "" {
			condition = `, "Condition": {"StringEquals": {` + condition + `}}`
		}
		return fmt.Sprintf(`{"Version": "2012-10-17", "Statement": {"Sid": "S", "Effect": "Allow", "Action": %q, "Resource": %q%s}}`, action, resource, condition)
	}
	for name, test := range map[string]struct {
		policy, want string // "" for no finding
	}{
		"an action with its type":             {statement("ec2:DeleteVpc", "arn:aws:ec2:*:*:vpc/*", `"aws:ResourceTag/a": "b"`), ""},
		"in another partition":                {statement("ec2:DeleteVpc", "arn:aws-cn:ec2:*:*:vpc/vpc-1", `"ec2:Region": "cn-north-1"`), ""},
		"a key that every request has":        {statement("ec2:DeleteVpc", "arn:aws:ec2:*:*:vpc/*", `"aws:ResourceAccount": "1"`), ""},
		"a key of the action":                 {statement("iam:PassRole", "arn:aws:iam::*:role/a", `"iam:PassedToService": "ec2.amazonaws.com"`), ""},
		"a misspelt action":                   {statement("ec2:DeleteVPC", "*", ""), "the reference has no such action"},
		"a tag of a request that deletes":     {statement("ec2:DeleteVpc", "arn:aws:ec2:*:*:vpc/*", `"aws:RequestTag/a": "b"`), "AWS does not evaluate aws:RequestTag/a for the type vpc"},
		"a tag without its key":               {statement("ec2:DeleteVpc", "arn:aws:ec2:*:*:vpc/*", `"aws:ResourceTag": "b"`), "AWS does not evaluate aws:ResourceTag for"},
		"the VPC of a new endpoint's subnet":  {statement("ec2:CreateVpcEndpoint", "arn:aws:ec2:*:*:subnet/*", `"ec2:Vpc": "arn:aws:ec2:*:*:vpc/vpc-1"`), "AWS does not evaluate ec2:Vpc for the type subnet"},
		"a resource of another type":          {statement("ec2:DeleteVpc", "arn:aws:ec2:*:*:subnet/*", ""), "has none of the statement's resources: vpc"},
		"a bucket for an action on objects":   {statement("s3:PutBucketPolicy", "arn:aws:s3:::bucket/*", ""), "has none of the statement's resources: bucket"},
		"a type that each request has":        {statement("ec2:AttachInternetGateway", "arn:aws:ec2:*:*:vpc/*", ""), "every request has a resource of the type internet-gateway"},
		"everything":                          {statement("ec2:DeleteVpc", "*", ""), "is allowed for *, and has resource types: vpc"},
		"a resource of an action without one": {statement("ec2:DescribeVpcs", "arn:aws:ec2:*:*:vpc/*", ""), "has no resource types"},
		"a denial":                            {`{"Statement": [{"Sid": "S", "Effect": "Deny", "Action": "ec2:DescribeVpcs", "Resource": "*"}]}`, "the effect is Deny"},
		"a resource of no action": {`{"Statement": [{"Sid": "S", "Effect": "Allow", "Action": ["ec2:DeleteVpc"],
			"Resource": ["arn:aws:ec2:*:*:vpc/*", "arn:aws:ec2:*:*:subnet/*"]}]}`, "no action of the statement has the resource arn:aws:ec2:*:*:subnet/*"},
	} {
		findings, err := reference.Check(test.policy)
		switch got := fmt.Sprint(findings); {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want == "" && len(findings) > 0, test.want != "" && !strings.Contains(got, test.want):
			t.Errorf("%s: %s, want %q", name, got, test.want)
		}
	}
}
