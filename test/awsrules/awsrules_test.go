package awsrules_test

import (
	"net/url"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

func TestTable(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range awsrules.All {
		if ids[r.ID] {
			t.Errorf("two rules have the id %s", r.ID)
		}
		ids[r.ID] = true
		if r.ID == "" || r.Rule == "" || r.Service == "" || len(r.Operations) == 0 || r.Code == "" || r.Message == "" {
			t.Errorf("rule %q is not complete", r.ID)
		}
		if source, err := url.Parse(r.Source); err != nil || source.Scheme != "https" || source.Host == "" {
			t.Errorf("rule %s has no page as its source: %q", r.ID, r.Source)
		}
		if (r.Case == "") == (r.NoCase == "") {
			t.Errorf("rule %s has either a case or a reason why it has none", r.ID)
		}
	}
}

func TestText(t *testing.T) {
	got := awsrules.Get("iam-inline-policies-per-role").Text("a")
	if want := "Maximum policy size of 10240 bytes exceeded for role a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPatternMatchesTheWholeValue(t *testing.T) {
	rule := awsrules.Get("iam-statement-id")
	for value, want := range map[string]bool{"Read1": true, "": true, "Read one": false, "Read\n": false} {
		if got := rule.Matches(value); got != want {
			t.Errorf("%q: %t, want %t", value, got, want)
		}
	}
}
