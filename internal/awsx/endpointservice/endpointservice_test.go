package endpointservice_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

const (
	region    = "us-east-1"
	provider  = "111111111111"
	consumer  = "222222222222"
	role      = "arn:aws:iam::" + consumer + ":role/control-plane-operator"
	otherRole = "arn:aws:iam::" + consumer + ":role/other"
	maxAge    = 20 * time.Minute
)

// testEnv is an account with one load balancer.
type testEnv struct {
	*fakeaws.Cloud
	*endpointservice.Services
	clock *clocktesting.FakeClock
	ec2   *ec2.Client
	spec  endpointservice.Spec
}

func newTestEnv(t *testing.T) *testEnv {
	w := &testEnv{clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	w.Cloud = fakeaws.New(w.clock).FailOn(t)
	w.Cloud.SetDelays(fakeaws.Delays{})
	w.ec2 = awsx.EC2(w.Account(provider).Config(region, "hypershift-operator"))
	w.spec = endpointservice.Spec{
		Owner:           endpointservice.Owner{UID: "uid-1", Role: "private-router"},
		LoadBalancerARN: w.loadBalancer("one"),
		Principals:      []string{role},
		Tags:            awsx.OwnedTags(awsx.Tags{"team": "blue"}, "uid-1", "private-router", "demo-x", "demo"),
		Request:         "es-1",
	}
	w.restart()
	return w
}

// restart is a new process, with empty hands.
func (w *testEnv) restart() {
	w.Services = endpointservice.New(w.ec2, w.clock, endpointservice.Options{ListTTL: maxAge, PrincipalsTTL: awsx.PrincipalsTTL})
}

func (w *testEnv) loadBalancer(name string) (arn string) {
	arn, _ = w.Account(provider).AddLoadBalancer(region, fakeaws.LoadBalancer{Name: name, Zones: []string{"us-east-1a", "us-east-1b"}})
	return arn
}

func (w *testEnv) ensure(t *testing.T) endpointservice.Service {
	t.Helper()
	svc, err := w.Ensure(t.Context(), w.spec)
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// truth is the services of the account as AWS has them.
func (w *testEnv) truth(t *testing.T) []types.ServiceConfiguration {
	t.Helper()
	out, err := w.ec2.DescribeVpcEndpointServiceConfigurations(t.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	if err != nil {
		t.Fatal(err)
	}
	return out.ServiceConfigurations
}

func (w *testEnv) principals(t *testing.T, id string) []string {
	t.Helper()
	out, err := w.ec2.DescribeVpcEndpointServicePermissions(t.Context(), &ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: &id})
	if err != nil {
		t.Fatal(err)
	}
	var arns []string
	for _, p := range out.AllowedPrincipals {
		arns = append(arns, *p.Principal)
	}
	return slices.Sorted(slices.Values(arns))
}

func (w *testEnv) wantCalls(t *testing.T, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, fakeaws.Count(w.Calls())); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	w.ForgetCalls()
}

func TestAServiceTakesThreeCallsAndNoneAtRest(t *testing.T) {
	w := newTestEnv(t)
	svc := w.ensure(t)
	w.wantCalls(t, map[string]int{
		"ec2:DescribeVpcEndpointServiceConfigurations": 1,
		"ec2:CreateVpcEndpointServiceConfiguration":    1,
		"ec2:ModifyVpcEndpointServicePermissions":      1,
	})
	if svc.State != endpointservice.Available || len(svc.ZoneIDs) != 2 {
		t.Errorf("got %+v, want it available in two zones", svc)
	}
	w.ensure(t)
	w.wantCalls(t, map[string]int{})
	if got := w.principals(t, svc.ID); !slices.Equal(got, []string{role}) {
		t.Errorf("principals %v", got)
	}
}

func TestAThousandServicesAtRestShareOneListing(t *testing.T) {
	w := newTestEnv(t)
	specs := []endpointservice.Spec{}
	for i := range 200 {
		spec := w.spec
		spec.UID = fmt.Sprintf("uid-%d", i)
		spec.Tags = awsx.OwnedTags(nil, spec.UID, spec.Role, spec.UID, spec.UID)
		spec.LoadBalancerARN = w.loadBalancer(spec.UID)
		specs = append(specs, spec)
		if _, err := w.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	w.ForgetCalls()
	w.clock.Step(maxAge + time.Second)
	for _, spec := range specs {
		if _, err := w.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	w.wantCalls(t, map[string]int{"ec2:DescribeVpcEndpointServiceConfigurations": 1})
}

func TestASecondProcessFindsTheService(t *testing.T) {
	for name, recorded := range map[string]bool{"that it knew": true, "that it did not get to record": false} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			first := w.ensure(t)
			if recorded {
				w.spec.Recorded = first.Name
			}
			w.restart()
			if again := w.ensure(t); again.ID != first.ID {
				t.Errorf("second service %s beside %s", again.ID, first.ID)
			}
		})
	}
}

func TestAListThatLagsBehindDoesNotMakeASecondService(t *testing.T) {
	w := newTestEnv(t)
	w.Cloud.SetDelays(fakeaws.Delays{Listed: time.Minute})
	first := w.ensure(t)
	w.restart()
	if again := w.ensure(t); again.ID != first.ID {
		t.Errorf("second service %s beside %s", again.ID, first.ID)
	}
}

func TestALostCreateAnswerMakesNoSecondService(t *testing.T) {
	w := newTestEnv(t)
	w.Fault(fakeaws.Fault{Operation: "CreateVpcEndpointServiceConfiguration", Kind: fakeaws.AnswerLost, Times: 1})
	w.ensure(t)
	if got := w.truth(t); len(got) != 1 {
		t.Errorf("%d services, want 1", len(got))
	}
}

func TestDriftIsRepaired(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, w *testEnv, id string){
		"acceptance is turned on": func(t *testing.T, w *testEnv, id string) {
			_, err := w.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, AcceptanceRequired: aws.Bool(true)})
			must(t, err)
		},
		"another load balancer is added": func(t *testing.T, w *testEnv, id string) {
			_, err := w.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, AddNetworkLoadBalancerArns: []string{w.loadBalancer("stranger")}})
			must(t, err)
		},
		"the load balancer is another one now": func(_ *testing.T, w *testEnv, _ string) {
			w.spec.LoadBalancerARN = w.loadBalancer("two")
		},
		"a tag is changed": func(t *testing.T, w *testEnv, id string) {
			_, err := w.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("red")}}})
			must(t, err)
		},
		"all tags are taken off": func(t *testing.T, w *testEnv, id string) {
			_, err := w.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}})
			must(t, err)
		},
		"the principal is removed and a stranger let in": func(t *testing.T, w *testEnv, id string) {
			_, err := w.ec2.ModifyVpcEndpointServicePermissions(t.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: &id, AddAllowedPrincipals: []string{otherRole}, RemoveAllowedPrincipals: []string{role}})
			must(t, err)
		},
		"a private DNS name is set": func(t *testing.T, w *testEnv, id string) {
			_, err := w.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, PrivateDnsName: aws.String("api.example.com")})
			must(t, err)
		},
		"IPv6 is offered": func(t *testing.T, w *testEnv, id string) {
			_, err := w.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, AddSupportedIpAddressTypes: []string{"ipv6"}})
			must(t, err)
		},
		"another region may connect, and the acceptance is changed": func(t *testing.T, w *testEnv, id string) {
			_, err := w.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, AddSupportedRegions: []string{"eu-west-1"}, AcceptanceRequired: aws.Bool(true)})
			must(t, err)
		},
		"the user names another principal": func(_ *testing.T, w *testEnv, _ string) {
			w.spec.Principals = []string{otherRole, role}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.Cloud.SetPageSize(1)
			svc := w.ensure(t)
			w.spec.Recorded = svc.Name
			spoil(t, w, svc.ID)
			w.clock.Step(awsx.PrincipalsTTL * 2)
			if again := w.ensure(t); again.Name != svc.Name {
				t.Fatalf("the service was replaced: endpoints to %s are lost", svc.Name)
			}
			var got types.ServiceConfiguration
			for _, c := range w.truth(t) {
				if *c.ServiceId == svc.ID {
					got = c
				}
			}
			if *got.AcceptanceRequired || !slices.Equal(got.NetworkLoadBalancerArns, []string{w.spec.LoadBalancerARN}) {
				t.Errorf("acceptance %v, load balancers %v", *got.AcceptanceRequired, got.NetworkLoadBalancerArns)
			}
			if got.PrivateDnsName != nil || len(got.SupportedIpAddressTypes) != 1 || len(got.SupportedRegions) != 1 {
				t.Errorf("private name %v, IP address types %v, regions %v", got.PrivateDnsName, got.SupportedIpAddressTypes, got.SupportedRegions)
			}
			have := awsx.Tags{}
			for _, tag := range got.Tags {
				have[*tag.Key] = *tag.Value
			}
			if missing := w.spec.Tags.Missing(have); missing != nil {
				t.Errorf("tags missing: %v", missing)
			}
			w.Cloud.SetPageSize(100)
			if got := w.principals(t, svc.ID); !slices.Equal(got, slices.Sorted(slices.Values(w.spec.Principals))) {
				t.Errorf("principals %v, want %v", got, w.spec.Principals)
			}
			w.ForgetCalls()
			w.ensure(t)
			w.wantCalls(t, map[string]int{})
		})
	}
}

func TestADeletedServiceIsRecreated(t *testing.T) {
	w := newTestEnv(t)
	svc := w.ensure(t)
	w.spec.Recorded = svc.Name
	w.spec.Request += svc.Name
	_, err := w.ec2.DeleteVpcEndpointServiceConfigurations(t.Context(), &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{svc.ID}})
	must(t, err)
	w.clock.Step(maxAge + time.Second)
	if again := w.ensure(t); again.ID == svc.ID {
		t.Errorf("still %s", again.ID)
	}
}

func TestAServiceOfOthersOnOurLoadBalancerIsNotChanged(t *testing.T) {
	w := newTestEnv(t)
	made, err := w.ec2.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		NetworkLoadBalancerArns: []string{w.spec.LoadBalancerARN},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVpcEndpointService,
			Tags: []types.Tag{{Key: aws.String(awsx.OwnerTag), Value: aws.String("uid-2")}, {Key: aws.String(awsx.RoleTag), Value: aws.String("private-router")}}}},
	})
	must(t, err)
	w.spec.Recorded = *made.ServiceConfiguration.ServiceName
	if _, err := w.Ensure(t.Context(), w.spec); !awsx.IsInvalid(err) {
		t.Errorf("error %v, want AWS to refuse", err)
	}
	if left, err := w.Delete(t.Context(), endpointservice.Deletion{Owner: w.spec.Owner}); err != nil || !left.Done() {
		t.Errorf("left %v, error %v", left, err)
	}
	if got := w.truth(t); len(got) != 1 || !*got[0].AcceptanceRequired {
		t.Errorf("the stranger's service was touched: %+v", got)
	}
}

// Others may write the name that we recorded.
func TestAnUntaggedServiceIsAdoptedOnlyIfItCanBeOurs(t *testing.T) {
	tag := func(key, value string) []types.Tag { return []types.Tag{{Key: &key, Value: &value}} }
	for name, tc := range map[string]struct {
		tags    []types.Tag
		onOther bool
		want    bool
	}{
		"on our load balancer, without owner tags":    {tag("team", "red"), false, true},
		"on another load balancer":                    {tag("team", "red"), true, false},
		"with the tag of another cluster":             {tag("kubernetes.io/cluster/other", "owned"), false, false},
		"with the tag of our cluster":                 {tag("kubernetes.io/cluster/demo-x", "owned"), false, true},
		"with the tag of another part of our cluster": {tag(awsx.RoleTag, "kube-apiserver"), false, false},
		"with the owner tag of another control plane": {tag(awsx.OwnerTag, "uid-2"), false, false},
		"with our owner tag, and no role":             {tag(awsx.OwnerTag, "uid-1"), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			lb := w.spec.LoadBalancerARN
			if tc.onOther {
				lb = w.loadBalancer("other")
			}
			made, err := w.ec2.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
				NetworkLoadBalancerArns: []string{lb},
				TagSpecifications:       []types.TagSpecification{{ResourceType: types.ResourceTypeVpcEndpointService, Tags: tc.tags}},
			})
			must(t, err)
			w.spec.Recorded = *made.ServiceConfiguration.ServiceName
			left, err := w.Delete(t.Context(), endpointservice.Deletion{Owner: w.spec.Owner})
			if err != nil || left.Found != "" || len(w.truth(t)) != 1 {
				t.Errorf("deleted before it was taken back: %+v, %v", left, err)
			}
			svc, err := w.Ensure(t.Context(), w.spec)
			if got := err == nil && svc.ID == *made.ServiceConfiguration.ServiceId; got != tc.want {
				t.Errorf("taken back: %v (%v), want %v", got, err, tc.want)
			}
		})
	}
}

func TestAnInvalidPrincipalDoesNotBlockTheOthers(t *testing.T) {
	w := newTestEnv(t)
	const bad = "arn:aws:iam::" + consumer + ":role/no role"
	w.spec.Principals = []string{bad, role}
	_, err := w.Ensure(t.Context(), w.spec)
	if message := awsx.Message(err); !awsx.IsInvalid(err) || !strings.Contains(message, "letting principal "+bad) {
		t.Errorf("error %q, want it to name %s", message, bad)
	}
	if got := w.principals(t, *w.truth(t)[0].ServiceId); !slices.Equal(got, []string{role}) {
		t.Errorf("principals %v, want %s", got, role)
	}
}

func TestDeleteFindsAServiceThatWasNeverRecorded(t *testing.T) {
	w := newTestEnv(t)
	w.ensure(t)
	w.restart()
	left, err := w.Delete(t.Context(), endpointservice.Deletion{Owner: w.spec.Owner})
	if err != nil || !left.Done() || len(w.truth(t)) != 0 {
		t.Errorf("left %v, error %v, in AWS %v", left, err, w.truth(t))
	}
}

func TestDeleteWaitsUntilAWSIsDone(t *testing.T) {
	w := newTestEnv(t)
	w.Cloud.SetDelays(fakeaws.Delays{ServiceDeleting: time.Minute})
	svc := w.ensure(t)
	doomed := endpointservice.Deletion{Owner: w.spec.Owner}
	left, err := w.Delete(t.Context(), doomed)
	if err != nil || !slices.Equal(left.Deleting, []string{svc.ID}) {
		t.Fatalf("left %v, error %v", left, err)
	}
	w.clock.Step(time.Minute)
	if left, err = w.Delete(t.Context(), doomed); err != nil || !left.Done() {
		t.Errorf("left %v, error %v", left, err)
	}
}

func TestDeleteOfAConnectedService(t *testing.T) {
	w := newTestEnv(t)
	svc := w.ensure(t)
	theirs := w.Account(consumer)
	cpo := awsx.EC2(theirs.Config(region, "control-plane-operator"))
	vpc := theirs.AddVPC(region, fakeaws.VPC{})
	made, err := cpo.CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{VpcId: &vpc, ServiceName: &svc.Name, VpcEndpointType: types.VpcEndpointTypeInterface})
	must(t, err)

	doomed := endpointservice.Deletion{Owner: w.spec.Owner}
	left, err := w.Delete(t.Context(), doomed)
	if want := []string{*made.VpcEndpoint.VpcEndpointId}; err != nil || !slices.Equal(left.Endpoints, want) {
		t.Fatalf("left %v, error %v, want endpoints %v", left, err, want)
	}
	for _, c := range w.Calls() {
		if c.Operation == "RejectVpcEndpointConnections" {
			t.Fatal("connections were rejected without being told to")
		}
	}

	doomed.RejectConnections = true
	if _, err := w.Delete(t.Context(), doomed); err != nil {
		t.Fatal(err)
	}
	if left, err = w.Delete(t.Context(), doomed); err != nil || !left.Done() {
		t.Errorf("left %v, error %v", left, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
