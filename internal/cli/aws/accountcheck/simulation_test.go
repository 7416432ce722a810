package accountcheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
)

func TestThePolicyOfACallerIsThatOfItsRole(t *testing.T) {
	for arn, want := range map[string]string{
		"arn:aws:sts::111111111111:assumed-role/admin/me":     "arn:aws:iam::111111111111:role/admin",
		"arn:aws:iam::111111111111:user/team/me":              "arn:aws:iam::111111111111:user/team/me",
		"arn:aws:iam::111111111111:root":                      "",
		"arn:aws-cn:sts::111111111111:assumed-role/admin/1:2": "arn:aws-cn:iam::111111111111:role/admin",
	} {
		partition, _, _ := strings.Cut(strings.TrimPrefix(arn, "arn:"), ":")
		got, ok := principal(awsgraph.Caller{Account: "111111111111", ARN: arn, Partition: partition})
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s, %v", arn, got, ok)
		}
	}
}

func TestSimulationsNameOneResourceAndTheValuesOfConditions(t *testing.T) {
	got := resources([]string{"arn:aws:ec2:*:*:vpc/*", "arn:aws:iam::*:role/demo-*", "*"}, "111111111111", "eu-west-1")
	if want := []string{"arn:aws:ec2:eu-west-1:111111111111:vpc/example", "arn:aws:iam::111111111111:role/demo-example", "*"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	s := statement{Condition: map[string]map[string]texts{
		"StringEquals":    {"aws:RequestTag/a": {"owned"}},
		"StringNotEquals": {"ec2:Region": {"us-east-1"}},
		"StringLike":      {"aws:TagKeys": {"a*", "b"}},
	}}
	entries := s.context()
	if len(entries) != 2 || *entries[0].ContextKeyName != "aws:RequestTag/a" || !slices.Equal(entries[1].ContextKeyValues, []string{"aexample", "b"}) || entries[1].ContextKeyType != "stringList" {
		t.Errorf("%+v", entries)
	}
}

func TestPartitionsOfRegions(t *testing.T) {
	for region, want := range map[string]string{"us-east-1": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b", "eusc-de-east-1": "aws-eusc"} {
		if got := Partition(region); got != want {
			t.Errorf("%s: %s", region, got)
		}
	}
}
