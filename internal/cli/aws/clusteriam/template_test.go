package clusteriam

import (
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awstemplate"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
)

// Every node of every spec can be translated, and the template can be passed without a bucket.
func TestEverySpecHasATemplate(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"defaults":          func(*Spec) {},
		"no ids, no issuer": func(s *Spec) { s.Inputs, s.IssuerURL = Inputs{}, "" },
		"everything":        func(s *Spec) { s.KMSKeyARN, s.AutoNode = "arn:aws:kms:us-east-1:111111111111:key/k", true },
		"existing provider": func(s *Spec) { s.ExistingProvider = true },
	} {
		s := Spec{
			InfraID: "demo-x7k2p", Region: "us-east-1", IssuerURL: "https://issuer.example.com/demo-x7k2p",
			Inputs: Inputs{VPC: Input{ID: "vpc-1"}, PublicZone: Input{ID: "Z1"}, PrivateZone: Input{ID: "Z2"}, LocalZone: Input{ID: "Z3"}},
		}
		change(&s)
		if errs := s.ValidateForTemplate(); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		text, gaps, err := Template(s).CloudFormation()
		if err != nil {
			t.Errorf("%s, CloudFormation: %v", name, err)
		}
		if len(text) > awstemplate.MaxInline {
			t.Errorf("%s: the template has %d bytes", name, len(text))
		}
		if len(gaps) != 1 {
			t.Errorf("%s: gaps %v", name, gaps)
		}
		module, err := Template(s).Terraform()
		if err != nil {
			t.Errorf("%s, Terraform: %v", name, err)
		}
		for _, text := range []string{string(text), string(module)} {
			for _, forbidden := range []string{"\uE000", "\uE001", iamrole.Unknown} {
				if strings.Contains(text, forbidden) {
					t.Errorf("%s: the document contains %q", name, forbidden)
				}
			}
			if provider := strings.Contains(text, "OIDCProvider\"") || strings.Contains(text, "\"aws_iam_openid_connect_provider\""); provider == s.ExistingProvider {
				t.Errorf("%s: creation of the provider: %t", name, provider)
			}
		}
	}
}

func TestTheSpecOfATemplateIsValidated(t *testing.T) {
	for name, s := range map[string]Spec{
		"no infra ID":      {},
		"an issuer's path": {InfraID: "demo", IssuerURL: "issuer.example.com/demo"},
		"a key":            {InfraID: "demo", KMSKeyARN: "key"},
	} {
		if errs := s.ValidateForTemplate(); len(errs) != 1 {
			t.Errorf("%s: %v", name, errs)
		}
	}
}
