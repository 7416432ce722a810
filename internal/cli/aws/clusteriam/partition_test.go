package clusteriam

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// A policy with ARNs of another partition allows no call, and IAM refuses a trust policy with them.
func TestPoliciesHaveTheARNsOfTheirPartition(t *testing.T) {
	for partition, region := range map[string]string{"aws": "us-east-1", "aws-us-gov": "us-gov-west-1", "aws-cn": "cn-north-1"} {
		s := Spec{
			InfraID: "demo", Region: region, Partition: partition, Account: "111111111111", IssuerURL: S3Issuer("documents", region, "demo"),
			KMSKeyARN: "arn:" + partition + ":kms:" + region + ":111111111111:key/k", AutoNode: true, VPCOwner: "222222222222",
			Inputs: Inputs{VPC: Input{ID: "vpc-1"}, PublicZone: Input{ID: "Z1"}, PrivateZone: Input{ID: "Z2"}, LocalZone: Input{ID: "Z3"}},
		}
		if errs := s.Validate(); len(errs) > 0 {
			t.Error(errs)
		}
		cfg := aws.Config{Region: region}
		arns := 0
		for _, n := range NewCloud(cfg, s.Owner()).WithVPCOwner(cfg).Nodes(s) {
			var ids rg.IDs = func(string) string { return "" }
			for attribute, value := range n.Desired(ids) {
				// Source: the policy of Karpenter's template, https://karpenter.sh/docs/reference/cloudformation/, which lists both names.
				for key, name := range map[string]string{"iam:PassedToService": `"ec2.amazonaws.com.cn"`, "kms:ViaService": `"ec2.*.amazonaws.com.cn"`} {
					if partition == "aws-cn" && strings.Count(value, key) > strings.Count(value, name) {
						t.Errorf("%s %s: %s does not have %s", n.Kind, n.Name, key, name)
					}
				}
				for _, part := range strings.Split(value, "arn:")[1:] {
					if arns++; !strings.HasPrefix(part, partition+":") {
						t.Errorf("%s %s: %s has arn:%s", n.Kind, n.Name, attribute, part)
					}
				}
			}
		}
		if arns < 30 {
			t.Errorf("only %d ARNs", arns)
		}
	}
	if got, want := S3Issuer("documents", "cn-north-1", "demo"), "https://documents.s3.cn-north-1.amazonaws.com.cn/demo"; got != want {
		t.Errorf("issuer %s, want %s", got, want)
	}
}
