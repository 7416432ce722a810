package cli_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/test/awstemplates"
)

func TestFlagsThatATemplateCannotHaveAreRefused(t *testing.T) {
	u := newUser(t)
	infra := createInfra("us-east-1a", "--render", "cloudformation", "--region", "us-east-1")
	iam := []string{"create", "iam", "aws", "--infra-id", "demo-x7k2p", "--render", "terraform", "--region", "us-east-1"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{createInfra("us-east-1a", "--render", "pulumi", "--region", "us-east-1"), "--render must be"},
		{createInfra("us-east-1a", "--render-into", "file", "--region", "us-east-1"), "--render must be"},
		{createInfra("us-east-1a", "--render", "terraform"), "--render needs --region"},
		{createInfra("us-west-2a", "--render", "terraform", "--region", "us-east-1"), "is neither a zone of the region"},
		{[]string{"create", "infra", "aws", "--infra-id", "demo", "--base-domain", domain, "--render", "terraform", "--region", "us-east-1"}, "--render needs --zones"},
		{slices.Concat(infra, []string{"--plan"}), "exclude each other"},
		{slices.Concat(infra, []string{"--vpc-owner-role-arn", "arn:aws:iam::111111111111:role/owner"}), "shared VPC"},
		{slices.Concat(iam, []string{"--vpc-owner-aws-creds", "file"}), "shared VPC"},
		{slices.Concat(iam, []string{"--kms-key-arn", "key"}), "--kms-key-arn"},
		{slices.Concat(iam, []string{"--oidc-issuer-url", "https://issuer.example.com", "--oidc-storage-provider-s3-bucket-name", "documents"}), "exclude each other"},
	} {
		if code := u.run(c.args...); code != cli.Usage || !strings.Contains(u.err.String(), c.want) || u.out.Len() > 0 {
			t.Errorf("%v: exit code %d, want %q\n%s", c.args, code, c.want, u.err.String())
		}
	}
}

func TestATemplateIsWrittenIntoAFileAndIsTheSameEachTime(t *testing.T) {
	u := newUser(t)
	for _, language := range []string{"cloudformation", "terraform"} {
		file := filepath.Join(t.TempDir(), "template.json")
		want := u.render(createInfra(threeZones, "--render", language)...)
		if got := u.render(createInfra(threeZones, "--render", language, "--render-into", file)...); len(got) > 0 {
			t.Errorf("%s: the command has also printed %s", language, got)
		}
		if !bytes.Equal(u.read(file), want) {
			t.Errorf("%s: the file and the output differ", language)
		}
	}
}

// A network for other zones would fail after half of it exists.
func TestATemplateIsRefusedInAnotherRegion(t *testing.T) {
	u := newUser(t)
	cfg := emulator.Config(u.account)
	cfg.Region = "eu-west-1"
	_, err := awstemplates.CloudFormation(t.Context(), cfg, u.render(createInfra(threeZones, "--render", "cloudformation")...), map[string]string{"PublicZoneID": "Z1"})
	if err == nil || !strings.Contains(err.Error(), "for the region us-east-1") {
		t.Errorf("CloudFormation: %v", err)
	}
	_, err = awstemplates.Terraform(t.Context(), cfg, u.render(createInfra(threeZones, "--render", "terraform")...), nil)
	if err == nil || !strings.Contains(err.Error(), "for the region us-east-1") {
		t.Errorf("Terraform: %v", err)
	}
	if left := u.owned(); len(left) > 0 {
		t.Errorf("before the error, %v was created", left)
	}
}
