package clusteriam

import (
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	"github.com/hosted-control-planes/hypershift/test/serviceauthorization"
)

// everything is the spec with the longest policies.
func everything() Spec {
	id := strings.Repeat("a", 32)
	return Spec{
		InfraID: id, Region: "ap-southeast-2", Partition: "aws-us-gov", Account: "111111111111", VPCOwner: "222222222222", AutoNode: true,
		IssuerURL: S3Issuer(strings.Repeat("b", 63), "ap-southeast-2", id),
		KMSKeyARN: "arn:aws-us-gov:kms:ap-southeast-2:111111111111:key/mrk-" + strings.Repeat("k", 32),
		Inputs:    Inputs{VPC: Input{Node: "vpc"}, PublicZone: Input{Node: "zone"}, PrivateZone: Input{Node: "zone"}, LocalZone: Input{Node: "zone"}},
	}
}

// IAM refuses the last policy of a role that has too many characters, when the others have been written.
func TestEveryRoleFitsIntoIAM(t *testing.T) {
	s := everything()
	if errs := s.Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	inline := map[string]int{}
	for _, n := range s.nodes() {
		switch n.Kind {
		case "Role":
			inline[n.ID] += 0
		case "Policy":
			inline[n.DependsOn[0]] += iamrole.Size(n.Desired(func(string) string { return strings.Repeat("x", 32) })["document"])
		}
	}
	if len(inline) != 11 {
		t.Errorf("%d roles", len(inline))
	}
	for id, size := range inline {
		t.Logf("%s: %d of %d characters", id, size, iamrole.MaxInline)
		if size == 0 {
			t.Errorf("%s has no policy", id)
		}
	}
}

// Policies are filled, put together and brought to the form of IAM: they still have the resource types and keys that AWS evaluates.
func TestPoliciesAreThoseOfTheReference(t *testing.T) {
	reference, err := serviceauthorization.Load()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, n := range everything().nodes() {
		if n.Kind != "Policy" {
			continue
		}
		findings, err := reference.Check(n.Desired(func(string) string { return "id" })["document"])
		if err != nil {
			t.Fatalf("%s: %v", n.Name, err)
		}
		checked++
		for _, f := range findings {
			// Accepted in test/serviceauthorization.
			if !strings.HasPrefix(f.Action, "kms:") && !strings.Contains(f.Problem, "spot-instances-request") {
				t.Errorf("%s: %s", n.Name, f)
			}
		}
	}
	if checked != 13 {
		t.Errorf("%d policies", checked)
	}
}

func TestFlagsThatAWSWouldRefuseOrIgnoreAreErrors(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"--oidc-issuer-url: Too long": func(s *Spec) { s.IssuerURL = "https://issuer.example.com/" + strings.Repeat("i", 229) },
		"the ARN of an alias":         func(s *Spec) { s.KMSKeyARN = "arn:aws:kms:us-east-1:111111111111:alias/secrets" },
	} {
		s := everything()
		change(&s)
		if errs := s.Validate(); len(errs) != 1 || !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("%v, want %q", errs, want)
		}
	}
}
