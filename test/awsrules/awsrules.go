// Package awsrules is the table of the rules of AWS that its service models do not contain: quotas, states, names, and required
// resources. The emulator and fakeaws read the numbers, patterns and error codes from it, and package awscontract tests each
// rule with a case.
package awsrules

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// JSON is the table as the emulator reads it.
//
//go:embed rules.json
var JSON []byte

// Rule is a row of the table.
type Rule struct {
	ID   string `json:"id"`
	Rule string `json:"rule"`
	// Service is the signing name, and Operations are the calls that AWS refuses.
	Service    string   `json:"service"`
	Operations []string `json:"operations"`
	// Limit is the largest value or length. Pattern is the expression that a whole value has to match or, for reserved names, must not
	// match. Go and Python read it, so that it has neither look-ahead nor classes of Unicode.
	Limit   float64 `json:"limit,omitempty"`
	Pattern string  `json:"pattern,omitempty"`
	// Values are the permitted values.
	Values []string `json:"values,omitempty"`
	// Refill is how many requests Limit gets back each second.
	Refill float64 `json:"refill,omitempty"`
	// Quota is the code with which an account requests an increase of Limit.
	Quota string `json:"quota,omitempty"`
	// Code and Message are the refusal. Message contains the placeholders {limit} and {name}.
	Code    string `json:"code"`
	Message string `json:"message"`
	Source  string `json:"source"`
	// Case is the case of package awscontract. NoCase is the reason for a missing case.
	Case   string `json:"case,omitempty"`
	NoCase string `json:"noCase,omitempty"`
	// NotInFake is the reason why fakeaws does not enforce the rule although it serves one of the operations.
	NotInFake string `json:"notInFake,omitempty"`

	pattern *regexp.Regexp
}

// All returns the rules.
var All = read()

func read() []*Rule {
	decoder := json.NewDecoder(bytes.NewReader(JSON))
	decoder.DisallowUnknownFields()
	var rules []*Rule
	if err := decoder.Decode(&rules); err != nil {
		panic(fmt.Errorf("reading rules.json: %w", err)) // the file is embedded, and a test reads it
	}
	for _, r := range rules {
		if r.Pattern != "" {
			r.pattern = regexp.MustCompile(`\A(?:` + r.Pattern + `)\z`)
		}
	}
	return rules
}

// Get returns the rule with an id.
func Get(id string) *Rule {
	i := slices.IndexFunc(All, func(r *Rule) bool { return r.ID == id })
	if i < 0 {
		panic("rules.json has no rule " + id)
	}
	return All[i]
}

// Matches is true if the whole value matches the pattern of the rule.
func (r *Rule) Matches(value string) bool { return r.pattern.MatchString(value) }

// Text returns the message of the refusal for a name.
func (r *Rule) Text(name string) string {
	return strings.NewReplacer("{limit}", fmt.Sprint(int(r.Limit)), "{name}", name).Replace(r.Message)
}
