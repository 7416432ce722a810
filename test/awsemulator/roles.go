package awsemulator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
)

// Role makes a role with a trust policy (see TrustWebIdentity and TrustRole), and gives its ARN.
func (e *Emulator) Role(ctx context.Context, account, name, trust string) (string, error) {
	role, err := iam.NewFromConfig(e.Config(account)).CreateRole(ctx, &iam.CreateRoleInput{
		RoleName:                 aws.String(name),
		AssumeRolePolicyDocument: aws.String(trust),
	})
	if err != nil {
		return "", fmt.Errorf("making role %s: %w", name, err)
	}
	return aws.ToString(role.Role.Arn), nil
}

// Permit gives a role a policy. From then on the sessions of the role may make only the calls that its policies allow; a role
// without any policy may do everything.
func (e *Emulator) Permit(ctx context.Context, account, role, policy string) error {
	_, err := iam.NewFromConfig(e.Config(account)).PutRolePolicy(ctx, &iam.PutRolePolicyInput{
		RoleName:       aws.String(role),
		PolicyName:     aws.String(role),
		PolicyDocument: aws.String(policy),
	})
	if err != nil {
		return fmt.Errorf("giving role %s its policy: %w", role, err)
	}
	return nil
}

// InstanceProfile makes an instance profile, and in it a role that EC2 assumes for the instance: <name>-role, as the
// infrastructure command of the CLI names it.
func (e *Emulator) InstanceProfile(ctx context.Context, account, name string) error {
	role := name + "-role"
	if _, err := e.Role(ctx, account, role, trustPolicy("sts:AssumeRole", "Service", []string{"ec2.amazonaws.com"}, nil)); err != nil {
		return err
	}
	client := iam.NewFromConfig(e.Config(account))
	_, err := client.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err != nil {
		return fmt.Errorf("making instance profile %s: %w", name, err)
	}
	_, err = client.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(name), RoleName: aws.String(role)})
	if err != nil {
		return fmt.Errorf("adding its role to instance profile %s: %w", name, err)
	}
	return nil
}

// TrustWebIdentity is a trust policy for tokens of an OIDC provider with one of the subjects.
func TrustWebIdentity(provider string, subjects ...string) string {
	_, issuer, _ := strings.Cut(provider, ":oidc-provider/")
	return trustPolicy("sts:AssumeRoleWithWebIdentity", "Federated", []string{provider},
		map[string]any{"StringEquals": map[string]any{issuer + ":sub": subjects}})
}

// TrustRole is a trust policy for sessions of other roles, as the shared-VPC roles have it.
func TrustRole(roles ...string) string {
	return trustPolicy("sts:AssumeRole", "AWS", roles, nil)
}

func trustPolicy(action, kind string, principals []string, condition map[string]any) string {
	statement := map[string]any{
		"Effect":    "Allow",
		"Action":    action,
		"Principal": map[string]any{kind: principals},
	}
	if condition != nil {
		statement["Condition"] = condition
	}
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{statement}})
	if err != nil {
		panic(err) // strings and maps of strings always marshal
	}
	return string(text)
}
