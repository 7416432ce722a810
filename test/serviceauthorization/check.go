package serviceauthorization

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// list is a value or a list of values in a policy.
type list []string

func (l *list) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*[]string)(l)); err == nil {
		return nil
	}
	var one string
	err := json.Unmarshal(text, &one)
	*l = list{one}
	return err
}

// statements are the statements of a policy, which may contain only one.
type statements []statement

func (s *statements) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*[]statement)(s)); err == nil {
		return nil
	}
	var one statement
	err := json.Unmarshal(text, &one)
	*s = statements{one}
	return err
}

type statement struct {
	Sid       string
	Effect    string
	Action    list
	Resource  list
	Condition map[string]map[string]any
}

// Check compares an identity-based policy with the reference. Variables are replaced already.
func (r Reference) Check(policy string) ([]Finding, error) {
	var document struct{ Statement statements }
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		return nil, fmt.Errorf("decoding the policy: %w", err)
	}
	var findings []Finding
	covered := map[string]map[string]bool{} // resource types by action
	for _, s := range document.Statement {
		findings = append(findings, r.checkStatement(s, covered)...)
	}
	for _, name := range slices.Sorted(maps.Keys(covered)) {
		for _, t := range slices.Sorted(maps.Keys(r.Actions[name].Types)) {
			if r.Actions[name].Types[t].Required && !covered[name][t] {
				findings = append(findings, Finding{"-", name, "every request has a resource of the type " + t + ", and no statement has one"})
			}
		}
	}
	return findings, nil
}

func (r Reference) checkStatement(s statement, covered map[string]map[string]bool) (findings []Finding) {
	report := func(action, problem string, args ...any) {
		findings = append(findings, Finding{s.Sid, action, fmt.Sprintf(problem, args...)})
	}
	if s.Effect != "Allow" {
		report("-", "the effect is %s, and the check knows only Allow", s.Effect)
	}
	used := map[string]bool{}
	for _, name := range s.Action {
		action, ok := r.Actions[name]
		if !ok {
			report(name, "the reference has no such action, or generate.py was not run")
			continue
		}
		if covered[name] == nil {
			covered[name] = map[string]bool{}
		}
		types := map[string]bool{}
		for _, resource := range s.Resource {
			for _, t := range action.typesOf(resource) {
				types[t], used[resource] = true, true
			}
			if resource == "*" {
				used[resource] = true
				if len(action.Types) > 0 {
					report(name, "is allowed for *, and has resource types: %s", strings.Join(slices.Sorted(maps.Keys(action.Types)), ", "))
				}
			}
		}
		if len(action.Types) == 0 && !slices.Contains(s.Resource, "*") {
			report(name, "has no resource types: a statement without * does not allow it")
		}
		if len(action.Types) > 0 && len(types) == 0 {
			report(name, "has none of the statement's resources: %s", strings.Join(slices.Sorted(maps.Keys(action.Types)), ", "))
		}
		maps.Copy(covered[name], types)
		for _, key := range s.keys() {
			if len(types) == 0 && !action.evaluates(key, ResourceType{}) {
				report(name, "AWS does not evaluate %s", key)
			}
			for _, t := range slices.Sorted(maps.Keys(types)) {
				if !action.evaluates(key, action.Types[t]) {
					report(name, "AWS does not evaluate %s for the type %s", key, t)
				}
			}
		}
	}
	for _, resource := range s.Resource {
		if !used[resource] {
			report("-", "no action of the statement has the resource %s", resource)
		}
	}
	return findings
}

// keys returns the condition keys of the statement.
func (s statement) keys() (keys []string) {
	for _, condition := range s.Condition {
		keys = slices.AppendSeq(keys, maps.Keys(condition))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Actions returns the actions of a policy.
func Actions(policy string) ([]string, error) {
	var document struct{ Statement statements }
	err := json.Unmarshal([]byte(policy), &document)
	var actions []string
	for _, s := range document.Statement {
		actions = append(actions, s.Action...)
	}
	return actions, err
}
