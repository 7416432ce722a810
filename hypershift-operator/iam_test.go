package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
)

// The policy that an administrator gives to this operator allows what the
// packages it uses can call, and nothing else.
func TestPolicy(t *testing.T) {
	var want []string
	add := func(service string, api reflect.Type) {
		for i := range api.NumMethod() {
			want = append(want, service+":"+api.Method(i).Name)
		}
	}
	add("ec2", reflect.TypeFor[endpointservice.API]())
	add("elasticloadbalancing", reflect.TypeFor[loadbalancer.API]())
	add("s3", reflect.TypeFor[oidcdocs.API]())
	// Deleting many is allowed by what allows deleting one. And without the
	// permission to list, S3 calls a document that is missing forbidden.
	want[slices.Index(want, "s3:DeleteObjects")] = "s3:DeleteObject"
	want = append(want, "s3:ListBucket")
	slices.Sort(want)

	if diff := cmp.Diff(want, allowedActions(t, "../config/iam/hypershift-operator.json")); diff != "" {
		t.Errorf("config/iam/hypershift-operator.json (-called +allowed):\n%s", diff)
	}
}

func allowedActions(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Statement []struct{ Action json.RawMessage }
	}
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, s := range policy.Statement {
		var many []string
		if err := json.Unmarshal(s.Action, &many); err != nil {
			many = make([]string, 1)
			if err := json.Unmarshal(s.Action, &many[0]); err != nil {
				t.Fatal(err)
			}
		}
		actions = append(actions, many...)
	}
	slices.Sort(actions)
	return actions
}
