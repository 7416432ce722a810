package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/commandlinerole"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func createCLIRole(more ...string) []string {
	return append([]string{"create", "iam", "cli-role", "--infra-id", "demo-x7k2p"}, more...)
}

func destroyCLIRole(more ...string) []string {
	return append([]string{"destroy", "iam", "cli-role", "--infra-id", "demo-x7k2p", "--yes"}, more...)
}

func TestRoleOfTheCommandLineRunsTheCommandsOfItsCluster(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must(createCLIRole()...)
	var made commandlinerole.Output
	u.try(json.Unmarshal(u.out.Bytes(), &made))
	u.must(createCLIRole()...)
	if len(u.writes) > 0 {
		t.Errorf("the second run has written %v", u.writes)
	}
	as := []string{"--role-arn", made.RoleARN}
	u.must(createInfra("us-east-1a", append(as, "--output-file", u.infraJSON())...)...)
	u.must(u.createIAM(as...)...)
	u.must(createBastion(as...)...)
	u.checkPrerequisites(as)
	if code := u.run(append([]string{"create", "infra", "aws", "--infra-id", "other-x7k2p", "--name", "other", "--base-domain", domain}, as...)...); code != cli.Failed || !strings.Contains(u.err.String(), "add the permission") {
		t.Errorf("another cluster: exit code %d\n%s", code, u.err.String())
	}
	u.must(destroyBastion(as...)...)
	u.must(destroyIAM(as...)...)
	u.must(destroyInfra(as...)...)
	if left := u.owned(); len(left) != 1 || !strings.Contains(left[0], "hypershift-cli-demo-x7k2p") {
		t.Errorf("left: %v", left)
	}
	u.must(destroyCLIRole()...)
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRoleOfTheCommandLineTrustsTheAccountOrThoseThatAreNamed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	trust := func() string {
		role, err := awsiam.NewFromConfig(emulator.Config(u.account)).GetRole(t.Context(), &awsiam.GetRoleInput{RoleName: aws.String("hypershift-cli-demo-x7k2p")})
		u.try(err)
		return decode(t, *role.Role.AssumeRolePolicyDocument)
	}
	u.must(createCLIRole()...)
	if got := trust(); !strings.Contains(got, `"AWS":"arn:aws:iam::`+u.account+`:root"`) {
		t.Errorf("trust policy %s", got)
	}
	support, err := emulator.Role(t.Context(), emulator.NewAccount(), "support", awsemulator.TrustRole("arn:aws:iam::"+u.account+":root"))
	u.try(err)
	u.must(createCLIRole("--trusted-arn", support, "--commands", "doctor")...)
	if got := trust(); !strings.Contains(got, `"AWS":"`+support+`"`) {
		t.Errorf("trust policy %s", got)
	}
	policy, err := awsiam.NewFromConfig(emulator.Config(u.account)).GetRolePolicy(t.Context(), &awsiam.GetRolePolicyInput{RoleName: aws.String("hypershift-cli-demo-x7k2p"), PolicyName: aws.String("hypershift")})
	u.try(err)
	if strings.Contains(decode(t, *policy.PolicyDocument), "Create") {
		t.Errorf("policy %s", *policy.PolicyDocument)
	}
	if code := u.run(createCLIRole("--commands", "create-oidc-bucket")...); code != cli.Usage || len(u.writes) > 0 || !strings.Contains(u.err.String(), "OIDC_BUCKET") {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
}
