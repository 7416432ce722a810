package awscontract

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// ruleSteps are the cases of the rules of package awsrules, by their names there.
var ruleSteps = join(iamRules, quotaRules, machineRules, nameRules)

func join(tables ...map[string]func(*run)) map[string]func(*run) {
	all := map[string]func(*run){}
	for _, table := range tables {
		maps.Copy(all, table)
	}
	return all
}

// ruleCases returns a case for each rule.
func ruleCases() []contract {
	var cases []contract
	for _, rule := range awsrules.All {
		if steps := ruleSteps[rule.Case]; steps != nil {
			cases = append(cases, contract{name: rule.Case, steps: steps, rule: rule})
		}
	}
	return cases
}

func TestEachRuleHasACase(t *testing.T) {
	unused := maps.Clone(ruleSteps)
	for _, rule := range awsrules.All {
		if rule.Case != "" && ruleSteps[rule.Case] == nil {
			t.Errorf("rule %s has no case: %q", rule.ID, rule.Case)
		}
		delete(unused, rule.Case)
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		t.Errorf("no rule has the case %q", name)
	}
}

const rulesPerGroup = "ec2-rules-per-group"

// Each case is seen to fail on an emulator that does not enforce its rule.
func TestCasesFailWithoutTheirRule(t *testing.T) {
	b := emulatorBed(t)
	if b == nil {
		t.Skip("the emulator does not run here")
	}
	e, _ := b.(*emulator)
	enforce := func(rule string, enforce bool) {
		t.Helper()
		if err := e.Enforce(context.WithoutCancel(t.Context()), rule, enforce); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range ruleCases() {
		t.Run(c.name, func(t *testing.T) {
			if c.rule.ID == rulesPerGroup {
				t.Skip("moto has this rule itself, and enforces it always")
			}
			enforced := c.rule.ID != unenforced
			enforce(c.rule.ID, false)
			defer enforce(c.rule.ID, enforced)
			if differs, _ := do(t, b, c); len(differs) == 0 {
				t.Errorf("the case passes without rule %s", c.rule.ID)
			}
		})
	}
}

func TestEachDifferenceHasAReason(t *testing.T) {
	for bed, differences := range knownDifferences {
		for name, reason := range differences {
			if len(reason) < 20 {
				t.Errorf("%s: %q: the reason why the product does not depend on it is missing", bed, name)
			}
		}
	}
}
