package bastion

import (
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/serviceauthorization"
)

func TestPolicyHasTheTypesThatAWSEvaluates(t *testing.T) {
	reference, err := serviceauthorization.Load()
	if err != nil {
		t.Fatal(err)
	}
	findings, err := reference.Check(policy())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		// The agent reports the instance on which it runs. Its id is not known when the role is created.
		if f.Action != "ssm:UpdateInstanceInformation" || !strings.Contains(f.Problem, "is allowed for *") {
			t.Error(f)
		}
	}
}
