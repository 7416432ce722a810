package iam

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hosted-control-planes/hypershift/internal/awsx/endpoint"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/awsx/subnet"
)

// The policies that an administrator gives to the operators allow what the
// packages that they use can call, and nothing else.
func TestPolicies(t *testing.T) {
	for file, want := range map[string][]string{
		"hypershift-operator.json": hypershiftOperator(),
		"control-plane-operator.json": called(map[string][]reflect.Type{
			"ec2":     {reflect.TypeFor[endpoint.API](), reflect.TypeFor[securitygroup.API](), reflect.TypeFor[subnet.API]()},
			"route53": {reflect.TypeFor[records.API]()},
		},
			// Route 53 asks EC2 whose VPC it is.
			"ec2:DescribeVpcs"),
	} {
		if diff := cmp.Diff(want, allowed(t, file)); diff != "" {
			t.Errorf("%s (-called +allowed):\n%s", file, diff)
		}
	}
}

// Nothing is allowed wholesale.
func TestNoPolicyIsOpen(t *testing.T) {
	for _, file := range []string{"hypershift-operator.json", "control-plane-operator.json", "node-pool-management.json", "cloud-controller.json"} {
		actions := allowed(t, file)
		if len(actions) == 0 {
			t.Errorf("%s allows nothing", file)
		}
		for _, action := range actions {
			if strings.Contains(action, "*") {
				t.Errorf("%s allows %s", file, action)
			}
		}
	}
}

func hypershiftOperator() []string {
	actions := called(map[string][]reflect.Type{
		"ec2":                  {reflect.TypeFor[endpointservice.API](), reflect.TypeFor[instancetypes.API]()},
		"elasticloadbalancing": {reflect.TypeFor[loadbalancer.API]()},
		"s3":                   {reflect.TypeFor[oidcdocs.API]()},
	},
		// Without the permission to list, S3 calls a document that is missing forbidden.
		"s3:ListBucket")
	// Deleting many is allowed by what allows deleting one.
	actions[slices.Index(actions, "s3:DeleteObjects")] = "s3:DeleteObject"
	return actions
}

// called lists the actions of interfaces over SDK clients, and others, sorted.
func called(interfaces map[string][]reflect.Type, others ...string) []string {
	actions := others
	for service, apis := range interfaces {
		for _, api := range apis {
			for i := range api.NumMethod() {
				if m := api.Method(i); m.Type.NumIn() > 0 { // what takes nothing calls nothing
					actions = append(actions, service+":"+m.Name)
				}
			}
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

func allowed(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Statement []struct{ Action json.RawMessage }
	}
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var actions []string
	for _, s := range policy.Statement {
		var many []string
		if err := json.Unmarshal(s.Action, &many); err != nil {
			many = make([]string, 1)
			if err := json.Unmarshal(s.Action, &many[0]); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		actions = append(actions, many...)
	}
	slices.Sort(actions)
	return actions
}
