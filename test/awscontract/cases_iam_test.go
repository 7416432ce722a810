package awscontract

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// thumbprint has the length of a thumbprint. IAM does not use it for an issuer in S3.
const thumbprint = "a9d53002e97e00e043244f3d170d6f4c414104fd"

const trustsEC2 = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"ec2.amazonaws.com"}}]}`

func trusting(principals ...string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"AWS":["` + strings.Join(principals, `","`) + `"]}}]}`
}

// policyOf returns a policy with exactly so many characters, and with white space that IAM does not count.
func policyOf(length int) string {
	const begin, end = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::`, `"}]}`
	return "\n " + begin + strings.Repeat("x", length-len(begin)-len(end)) + end + "  \n"
}

// newRole creates a role and returns its name.
func (r *run) newRole() string {
	name := r.unique("contract")
	r.ok("CreateRole", r.createRole(name, trustsEC2))
	return name
}

func (r *run) createRole(name, trust string) error {
	_, err := r.consumer.iam.CreateRole(r.ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust})
	if err == nil {
		r.later(func() { r.dropRole(name) })
	}
	return err
}

func (r *run) dropRole(name string) {
	if inline, err := r.consumer.iam.ListRolePolicies(r.ctx, &iam.ListRolePoliciesInput{RoleName: &name}); err == nil {
		for _, policy := range inline.PolicyNames {
			_, _ = r.consumer.iam.DeleteRolePolicy(r.ctx, &iam.DeleteRolePolicyInput{RoleName: &name, PolicyName: &policy})
		}
	}
	if attached, err := r.consumer.iam.ListAttachedRolePolicies(r.ctx, &iam.ListAttachedRolePoliciesInput{RoleName: &name}); err == nil {
		for _, policy := range attached.AttachedPolicies {
			_, _ = r.consumer.iam.DetachRolePolicy(r.ctx, &iam.DetachRolePolicyInput{RoleName: &name, PolicyArn: policy.PolicyArn})
		}
	}
	if _, err := r.consumer.iam.DeleteRole(r.ctx, &iam.DeleteRoleInput{RoleName: &name}); err != nil {
		r.t.Logf("deleting role %s: %v", name, err)
	}
}

func (r *run) putPolicy(role, name, document string) error {
	_, err := r.consumer.iam.PutRolePolicy(r.ctx, &iam.PutRolePolicyInput{RoleName: &role, PolicyName: &name, PolicyDocument: &document})
	return err
}

func (r *run) createPolicy(document string) (string, error) {
	out, err := r.consumer.iam.CreatePolicy(r.ctx, &iam.CreatePolicyInput{PolicyName: aws.String(r.unique("contract")), PolicyDocument: &document})
	if err != nil {
		return "", err
	}
	r.later(func() {
		_, _ = r.consumer.iam.DeletePolicy(r.ctx, &iam.DeletePolicyInput{PolicyArn: out.Policy.Arn})
	})
	return *out.Policy.Arn, nil
}

// profile creates an instance profile without a role.
func (r *run) profile() string {
	name := r.unique("contract")
	_, err := r.consumer.iam.CreateInstanceProfile(r.ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &name})
	r.ok("CreateInstanceProfile", err)
	r.later(func() {
		_, _ = r.consumer.iam.DeleteInstanceProfile(r.ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &name})
	})
	return name
}

func (r *run) addRole(profile, role string) {
	_, err := r.consumer.iam.AddRoleToInstanceProfile(r.ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &profile, RoleName: &role})
	r.ok("AddRoleToInstanceProfile", err)
	r.later(func() {
		_, _ = r.consumer.iam.RemoveRoleFromInstanceProfile(r.ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &profile, RoleName: &role})
	})
}

// machine is the request for an instance that AWS starts.
func (r *run) machine(change func(*ec2.RunInstancesInput)) *ec2.RunInstancesInput {
	in := &ec2.RunInstancesInput{ImageId: &r.image, InstanceType: types.InstanceTypeT3Micro, MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &r.a}
	change(in)
	return in
}

// start starts an instance, and terminates it after the case.
func (r *run) start(change func(*ec2.RunInstancesInput)) error {
	out, err := r.consumer.ec2.RunInstances(r.ctx, r.machine(change))
	if err == nil {
		id := *out.Instances[0].InstanceId
		r.later(func() {
			_, err := r.consumer.ec2.TerminateInstances(r.ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
			if err != nil {
				r.t.Logf("terminating instance %s: %v", id, err)
				return
			}
			// Until then it uses its groups.
			r.wait(r.ctx, func() bool {
				out, err := r.consumer.ec2.DescribeInstances(r.ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
				return err != nil || out.Reservations[0].Instances[0].State.Name == types.InstanceStateNameTerminated
			})
		})
	}
	return err
}

func (r *run) startWith(profile string) error {
	return r.start(func(in *ec2.RunInstancesInput) {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: &profile}
	})
}

// settles waits until a call succeeds that a rule of eventual consistency may refuse before.
func (r *run) settles(id, what string, call func() error) {
	rule := awsrules.Get(id)
	r.becomes(what, func() bool {
		err := call()
		var api smithy.APIError
		if err != nil && (!errors.As(err, &api) || api.ErrorCode() != rule.Code) {
			r.ok(what, err)
		}
		return err == nil
	})
}

var iamRules = map[string]func(*run){
	"the inline policies of a role have at most 10,240 characters together": func(r *run) {
		role := r.newRole()
		r.ok("half", r.putPolicy(role, "one", policyOf(5120)))
		r.ok("the other half", r.putPolicy(role, "two", policyOf(5120)))
		r.ok("one of them again", r.putPolicy(role, "two", policyOf(5119)))
		r.refusedBy("iam-inline-policies-per-role", "more than both", r.putPolicy(role, "two", policyOf(5121)))
	},
	"the trust policy of a role has at most 2,048 characters": func(r *run) {
		empty := len(trusting(""))
		sessions := func(length int) string {
			return strings.Replace(trusting("arn:aws:iam::"+r.consumer.account+":root"), `"Effect"`, `"Sid":"`+strings.Repeat("x", length-empty-len("arn:aws:iam::")-len(r.consumer.account)-len(":root")-len(`"Sid":"",`))+`","Effect"`, 1)
		}
		r.ok("a long one", r.createRole(r.unique("contract"), sessions(2048)))
		r.refusedBy("iam-trust-policy-size", "a longer one", r.createRole(r.unique("contract"), sessions(2049)))
	},
	"a customer managed policy has at most 6,144 characters": func(r *run) {
		_, err := r.createPolicy(policyOf(6144))
		r.ok("a long one", err)
		_, err = r.createPolicy(policyOf(6145))
		r.refusedBy("iam-managed-policy-size", "a longer one", err)
	},
	"a role has at most 10 managed policies": func(r *run) {
		var policies []string
		for range 11 {
			policy, err := r.createPolicy(policyOf(200))
			r.ok("CreatePolicy", err)
			policies = append(policies, policy)
		}
		role := r.newRole()
		for i, policy := range policies {
			_, err := r.consumer.iam.AttachRolePolicy(r.ctx, &iam.AttachRolePolicyInput{RoleName: &role, PolicyArn: &policy})
			if i < 10 {
				r.ok(fmt.Sprintf("policy %d", i+1), err)
			} else {
				r.refusedBy("iam-attached-policies-per-role", "policy 11", err)
			}
		}
	},
	"the Sid of a statement has letters and digits only": func(r *run) {
		role := r.newRole()
		named := func(sid string) string {
			return strings.Replace(policyOf(200), `"Effect"`, `"Sid":"`+sid+`","Effect"`, 1)
		}
		r.ok("letters and digits", r.putPolicy(role, "one", named("Read1")))
		for _, sid := range []string{"Read one", "Read-1"} {
			r.refusedBy("iam-statement-id", sid, r.putPolicy(role, "one", named(sid)))
		}
	},
	"a policy names only resources of its partition": func(r *run) {
		role := r.newRole()
		r.refusedBy("iam-partition", "a bucket of another partition", r.putPolicy(role, "one", strings.Replace(policyOf(200), "arn:aws:", "arn:aws-cn:", 1)))
	},
	"a trust policy names only principals that exist": func(r *run) {
		for _, kind := range []string{"role/", "user/"} {
			err := r.createRole(r.unique("contract"), trusting("arn:aws:iam::"+r.consumer.account+":"+kind+r.unique("nothing")))
			r.refusedBy("iam-trusted-principal", kind, err)
		}
	},
	"a trust policy may name a new role seconds after the role was created": func(r *run) {
		trust := trusting("arn:aws:iam::" + r.consumer.account + ":role/" + r.newRole())
		name := r.unique("contract")
		if r.delaysIAM {
			r.refusedBy("iam-fresh-principal", "at once", r.createRole(name, trust))
		}
		r.settles("iam-fresh-principal", "the role is a principal", func() error { return r.createRole(name, trust) })
	},
	"an OIDC provider without a thumbprint needs its documents": func(r *run) {
		provider := func(thumbprints ...string) error {
			out, err := r.consumer.iam.CreateOpenIDConnectProvider(r.ctx, &iam.CreateOpenIDConnectProviderInput{
				Url: aws.String(r.issuer + "/" + r.unique("nothing")), ClientIDList: []string{audience}, ThumbprintList: thumbprints})
			if err == nil {
				r.later(func() {
					_, _ = r.consumer.iam.DeleteOpenIDConnectProvider(r.ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: out.OpenIDConnectProviderArn})
				})
			}
			return err
		}
		r.ok("with a thumbprint", provider(thumbprint))
		r.refusedBy("iam-oidc-thumbprint", "without one", provider())
	},
	"an instance starts only with an instance profile that has a role": func(r *run) {
		profile := r.profile()
		r.becomes("EC2 finds the profile", func() bool {
			return !strings.Contains(fmt.Sprint(r.startWith(profile)), "Invalid IAM Instance Profile name")
		})
		r.refusedBy("ec2-profile-without-role", "without a role", r.startWith(profile))
		r.addRole(profile, r.newRole())
		r.settles("ec2-profile-without-role", "EC2 finds the role", func() error { return r.startWith(profile) })
	},
	"EC2 finds a new instance profile seconds after its creation": func(r *run) {
		profile := r.profile()
		r.addRole(profile, r.newRole())
		if r.delaysIAM {
			r.refusedBy("ec2-fresh-profile", "at once", r.startWith(profile))
		}
		r.settles("ec2-fresh-profile", "EC2 finds the profile", func() error { return r.startWith(profile) })
	},
}
