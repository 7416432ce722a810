package commandlinerole

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
)

// grant is an action on a resource, and the condition.
type grant struct{ action, resource, condition string }

func grants(t *testing.T, text string) map[grant]bool {
	t.Helper()
	var document struct {
		Statement []struct {
			Action, Resource any
			Condition        map[string]map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	all := map[grant]bool{}
	for _, st := range document.Statement {
		for _, a := range list(st.Action) {
			for _, r := range list(st.Resource) {
				// A list with one value means the value.
				all[grant{a, r, strings.NewReplacer("[", "", "]", "").Replace(fmt.Sprint(st.Condition))}] = true
			}
		}
	}
	return all
}

func TestPolicyOfARoleIsThatOfItsCommands(t *testing.T) {
	s := Spec{InfraID: "demo-x7k2p", Bucket: "documents", NamePrefix: "hypershift", Commands: append([]string{"create-oidc-bucket", "destroy-operator-roles"}, Commands...)}
	text, err := s.policy()
	if err != nil {
		t.Fatal(err)
	}
	single, types := map[grant]bool{}, map[string]bool{}
	for _, command := range s.Commands {
		one, err := iam.FillCommand(command, map[string]string{"INFRA_ID": s.InfraID, "OIDC_BUCKET": s.Bucket, "NAME_PREFIX": s.NamePrefix})
		if err != nil {
			t.Fatal(err)
		}
		for g := range grants(t, one) {
			single[g], types[g.action+" "+typeOf(g.resource)] = true, true
		}
	}
	merged := grants(t, text)
	for g := range single {
		if !merged[g] {
			t.Errorf("the role may not %v", g)
		}
	}
	for g := range merged {
		if single[g] || single[grant{g.action, "*", g.condition}] {
			continue
		}
		if g.resource == "*" || types[g.action+" "+typeOf(g.resource)] || g.action == "ec2:CreateTags" {
			t.Errorf("the role may %v, and no command may", g)
		}
	}
}

func TestPolicyOfEveryClusterFitsIntoARole(t *testing.T) {
	s := Spec{InfraID: strings.Repeat("a", 32), Partition: "aws-us-gov", Commands: Commands}
	text, err := s.policy()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d characters", len(text), iamrole.MaxInline)
	if _, err := (Spec{InfraID: strings.Repeat("a", 400), Commands: Commands}).policy(); err == nil || !strings.Contains(err.Error(), "leave commands out") {
		t.Errorf("%v", err)
	}
}

func TestSpecsThatAreNotCorrect(t *testing.T) {
	for want, s := range map[string]Spec{
		"--infra-id: Required":                      {Commands: Commands},
		"must not start with the infra ID":          {InfraID: "demo", Name: "demo-cli", Commands: Commands},
		"must be the ARN of a user":                 {InfraID: "demo", Trusted: []string{"222222222222"}, Commands: Commands},
		"--commands: Required":                      {InfraID: "demo"},
		"reading the policy":                        {InfraID: "demo", Commands: []string{"../control-plane-operator"}},
		"policy of none":                            {InfraID: "demo", Commands: []string{"none"}},
		"needs values for OIDC_BUCKET":              {InfraID: "demo", Commands: []string{"create-oidc-bucket"}},
		"--additional-tags: Invalid value":          {InfraID: "demo", Commands: Commands, Tags: map[string]string{OwnershipTag: "a"}},
		"--name: Too long: may not be more than 64": {InfraID: "demo", Name: strings.Repeat("a", 65), Commands: Commands},
	} {
		if err := s.Validate().ToAggregate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if errs := (Spec{InfraID: "demo", Commands: Commands, Trusted: []string{"arn:aws:iam::222222222222:root"}}).Validate(); len(errs) > 0 {
		t.Error(errs)
	}
}
