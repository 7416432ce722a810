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

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	region    = "us-east-1"
	provider  = "111111111111"
	consumer  = "222222222222"
	role      = "arn:aws:iam::" + consumer + ":role/control-plane-operator"
	otherRole = "arn:aws:iam::" + consumer + ":role/other"
	maxAge    = 20 * time.Minute
)

// providerAccount is an account with one load balancer.
type providerAccount struct {
	*testenv.Env
	*endpointservice.Services
	ec2  *ec2.Client
	spec endpointservice.Spec
}

func newProviderAccount(t *testing.T) *providerAccount {
	e := &providerAccount{Env: testenv.New(t, testenv.WithDelays(fakeaws.Delays{}))}
	e.ec2 = awsx.EC2(e.AWS.Account(provider).Config(region, "hypershift-operator"))
	e.spec = endpointservice.Spec{
		Owner:           endpointservice.Owner{UID: "uid-1", Role: "private-router"},
		LoadBalancerARN: e.loadBalancer("one"),
		Principals:      []string{role},
		Tags:            awsx.OwnedTags(awsx.Tags{"team": "blue"}, "uid-1", "private-router", "demo-x", "demo"),
		Request:         "es-1",
	}
	e.restart()
	return e
}

// restart is a new process, with empty hands.
func (e *providerAccount) restart() {
	e.Services = endpointservice.New(e.ec2, e.Clock, endpointservice.Options{ListTTL: maxAge, PrincipalsTTL: awsx.PrincipalsTTL})
}

func (e *providerAccount) loadBalancer(name string) (arn string) {
	arn, _ = e.AWS.Account(provider).AddLoadBalancer(region, fakeaws.LoadBalancer{Name: name, Zones: []string{"us-east-1a", "us-east-1b"}})
	return arn
}

func (e *providerAccount) ensure() endpointservice.Service {
	e.T.Helper()
	svc, err := e.Ensure(e.T.Context(), e.spec)
	e.Must(err)
	return svc
}

// truth is the services of the account as AWS has them.
func (e *providerAccount) truth() []types.ServiceConfiguration {
	e.T.Helper()
	out, err := e.ec2.DescribeVpcEndpointServiceConfigurations(e.T.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	e.Must(err)
	return out.ServiceConfigurations
}

func (e *providerAccount) principals(id string) []string {
	e.T.Helper()
	out, err := e.ec2.DescribeVpcEndpointServicePermissions(e.T.Context(), &ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: &id})
	e.Must(err)
	var arns []string
	for _, p := range out.AllowedPrincipals {
		arns = append(arns, *p.Principal)
	}
	return slices.Sorted(slices.Values(arns))
}

func (e *providerAccount) wantCalls(want map[string]int) {
	e.T.Helper()
	if diff := cmp.Diff(want, fakeaws.Count(e.AWS.Calls())); diff != "" {
		e.T.Errorf("calls (-want +got):\n%s", diff)
	}
	e.AWS.ForgetCalls()
}

func TestAServiceTakesThreeCallsAndNoneAtRest(t *testing.T) {
	e := newProviderAccount(t)
	svc := e.ensure()
	e.wantCalls(map[string]int{
		"ec2:DescribeVpcEndpointServiceConfigurations": 1,
		"ec2:CreateVpcEndpointServiceConfiguration":    1,
		"ec2:ModifyVpcEndpointServicePermissions":      1,
	})
	if svc.State != endpointservice.Available || len(svc.ZoneIDs) != 2 {
		t.Errorf("got %+v, want it available in two zones", svc)
	}
	e.ensure()
	e.wantCalls(map[string]int{})
	if got := e.principals(svc.ID); !slices.Equal(got, []string{role}) {
		t.Errorf("principals %v", got)
	}
}

func TestAThousandServicesAtRestShareOneListing(t *testing.T) {
	e := newProviderAccount(t)
	specs := []endpointservice.Spec{}
	for i := range 200 {
		spec := e.spec
		spec.UID = fmt.Sprintf("uid-%d", i)
		spec.Tags = awsx.OwnedTags(nil, spec.UID, spec.Role, spec.UID, spec.UID)
		spec.LoadBalancerARN = e.loadBalancer(spec.UID)
		specs = append(specs, spec)
		if _, err := e.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	e.AWS.ForgetCalls()
	e.Clock.Step(maxAge + time.Second)
	for _, spec := range specs {
		if _, err := e.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	e.wantCalls(map[string]int{"ec2:DescribeVpcEndpointServiceConfigurations": 1})
}

func TestASecondProcessFindsTheService(t *testing.T) {
	for name, recorded := range map[string]bool{"that it knew": true, "that it did not get to record": false} {
		t.Run(name, func(t *testing.T) {
			e := newProviderAccount(t)
			first := e.ensure()
			if recorded {
				e.spec.Recorded = first.Name
			}
			e.restart()
			if again := e.ensure(); again.ID != first.ID {
				t.Errorf("second service %s beside %s", again.ID, first.ID)
			}
		})
	}
}

func TestAListThatLagsBehindDoesNotMakeASecondService(t *testing.T) {
	e := newProviderAccount(t)
	e.AWS.SetDelays(fakeaws.Delays{Listed: time.Minute})
	first := e.ensure()
	e.restart()
	if again := e.ensure(); again.ID != first.ID {
		t.Errorf("second service %s beside %s", again.ID, first.ID)
	}
}

func TestALostCreateAnswerMakesNoSecondService(t *testing.T) {
	e := newProviderAccount(t)
	e.AWS.Fault(fakeaws.Fault{Operation: "CreateVpcEndpointServiceConfiguration", Kind: fakeaws.AnswerLost, Times: 1})
	e.ensure()
	if got := e.truth(); len(got) != 1 {
		t.Errorf("%d services, want 1", len(got))
	}
}

func TestDriftIsRepaired(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, e *providerAccount, id string){
		"acceptance is turned on": func(t *testing.T, e *providerAccount, id string) {
			_, err := e.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, AcceptanceRequired: aws.Bool(true)})
			e.Must(err)
		},
		"another load balancer is added": func(t *testing.T, e *providerAccount, id string) {
			_, err := e.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, AddNetworkLoadBalancerArns: []string{e.loadBalancer("stranger")}})
			e.Must(err)
		},
		"the load balancer is another one now": func(_ *testing.T, e *providerAccount, _ string) {
			e.spec.LoadBalancerARN = e.loadBalancer("two")
		},
		"a tag is changed": func(t *testing.T, e *providerAccount, id string) {
			_, err := e.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("red")}}})
			e.Must(err)
		},
		"all tags are taken off": func(t *testing.T, e *providerAccount, id string) {
			_, err := e.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}})
			e.Must(err)
		},
		"the principal is removed and a stranger let in": func(t *testing.T, e *providerAccount, id string) {
			_, err := e.ec2.ModifyVpcEndpointServicePermissions(t.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: &id, AddAllowedPrincipals: []string{otherRole}, RemoveAllowedPrincipals: []string{role}})
			e.Must(err)
		},
		"a private DNS name is set": func(t *testing.T, e *providerAccount, id string) {
			_, err := e.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, PrivateDnsName: aws.String("api.example.com")})
			e.Must(err)
		},
		"IPv6 is offered": func(t *testing.T, e *providerAccount, id string) {
			_, err := e.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, AddSupportedIpAddressTypes: []string{"ipv6"}})
			e.Must(err)
		},
		"another region may connect, and the acceptance is changed": func(t *testing.T, e *providerAccount, id string) {
			_, err := e.ec2.ModifyVpcEndpointServiceConfiguration(t.Context(), &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, AddSupportedRegions: []string{"eu-west-1"}, AcceptanceRequired: aws.Bool(true)})
			e.Must(err)
		},
		"the user names another principal": func(_ *testing.T, e *providerAccount, _ string) {
			e.spec.Principals = []string{otherRole, role}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newProviderAccount(t)
			e.AWS.SetPageSize(1)
			svc := e.ensure()
			e.spec.Recorded = svc.Name
			spoil(t, e, svc.ID)
			e.Clock.Step(awsx.PrincipalsTTL * 2)
			if again := e.ensure(); again.Name != svc.Name {
				t.Fatalf("the service was replaced: endpoints to %s are lost", svc.Name)
			}
			var got types.ServiceConfiguration
			for _, c := range e.truth() {
				if *c.ServiceId == svc.ID {
					got = c
				}
			}
			if *got.AcceptanceRequired || !slices.Equal(got.NetworkLoadBalancerArns, []string{e.spec.LoadBalancerARN}) {
				t.Errorf("acceptance %v, load balancers %v", *got.AcceptanceRequired, got.NetworkLoadBalancerArns)
			}
			if got.PrivateDnsName != nil || len(got.SupportedIpAddressTypes) != 1 || len(got.SupportedRegions) != 1 {
				t.Errorf("private name %v, IP address types %v, regions %v", got.PrivateDnsName, got.SupportedIpAddressTypes, got.SupportedRegions)
			}
			have := awsx.Tags{}
			for _, tag := range got.Tags {
				have[*tag.Key] = *tag.Value
			}
			if missing := e.spec.Tags.Missing(have); missing != nil {
				t.Errorf("tags missing: %v", missing)
			}
			e.AWS.SetPageSize(100)
			if got := e.principals(svc.ID); !slices.Equal(got, slices.Sorted(slices.Values(e.spec.Principals))) {
				t.Errorf("principals %v, want %v", got, e.spec.Principals)
			}
			e.AWS.ForgetCalls()
			e.ensure()
			e.wantCalls(map[string]int{})
		})
	}
}

func TestADeletedServiceIsRecreated(t *testing.T) {
	e := newProviderAccount(t)
	svc := e.ensure()
	e.spec.Recorded = svc.Name
	e.spec.Request += svc.Name
	_, err := e.ec2.DeleteVpcEndpointServiceConfigurations(t.Context(), &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{svc.ID}})
	e.Must(err)
	e.Clock.Step(maxAge + time.Second)
	if again := e.ensure(); again.ID == svc.ID {
		t.Errorf("still %s", again.ID)
	}
}

func TestAServiceOfOthersOnOurLoadBalancerIsNotChanged(t *testing.T) {
	e := newProviderAccount(t)
	made, err := e.ec2.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		NetworkLoadBalancerArns: []string{e.spec.LoadBalancerARN},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVpcEndpointService,
			Tags: []types.Tag{{Key: aws.String(awsx.OwnerTag), Value: aws.String("uid-2")}, {Key: aws.String(awsx.RoleTag), Value: aws.String("private-router")}}}},
	})
	e.Must(err)
	e.spec.Recorded = *made.ServiceConfiguration.ServiceName
	if _, err := e.Ensure(t.Context(), e.spec); !awsx.IsInvalid(err) {
		t.Errorf("error %v, want AWS to refuse", err)
	}
	if left, err := e.Services.Delete(t.Context(), endpointservice.Deletion{Owner: e.spec.Owner}); err != nil || !left.Done() {
		t.Errorf("left %v, error %v", left, err)
	}
	if got := e.truth(); len(got) != 1 || !*got[0].AcceptanceRequired {
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
			e := newProviderAccount(t)
			lb := e.spec.LoadBalancerARN
			if tc.onOther {
				lb = e.loadBalancer("other")
			}
			made, err := e.ec2.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
				NetworkLoadBalancerArns: []string{lb},
				TagSpecifications:       []types.TagSpecification{{ResourceType: types.ResourceTypeVpcEndpointService, Tags: tc.tags}},
			})
			e.Must(err)
			e.spec.Recorded = *made.ServiceConfiguration.ServiceName
			left, err := e.Services.Delete(t.Context(), endpointservice.Deletion{Owner: e.spec.Owner})
			if err != nil || left.Found != "" || len(e.truth()) != 1 {
				t.Errorf("deleted before it was taken back: %+v, %v", left, err)
			}
			svc, err := e.Ensure(t.Context(), e.spec)
			if got := err == nil && svc.ID == *made.ServiceConfiguration.ServiceId; got != tc.want {
				t.Errorf("taken back: %v (%v), want %v", got, err, tc.want)
			}
		})
	}
}

func TestAnInvalidPrincipalDoesNotBlockTheOthers(t *testing.T) {
	e := newProviderAccount(t)
	const bad = "arn:aws:iam::" + consumer + ":role/no role"
	e.spec.Principals = []string{bad, role}
	_, err := e.Ensure(t.Context(), e.spec)
	if message := awsx.Message(err); !awsx.IsInvalid(err) || !strings.Contains(message, "letting principal "+bad) {
		t.Errorf("error %q, want it to name %s", message, bad)
	}
	if got := e.principals(*e.truth()[0].ServiceId); !slices.Equal(got, []string{role}) {
		t.Errorf("principals %v, want %s", got, role)
	}
}

func TestDeleteFindsAServiceThatWasNeverRecorded(t *testing.T) {
	e := newProviderAccount(t)
	e.ensure()
	e.restart()
	left, err := e.Services.Delete(t.Context(), endpointservice.Deletion{Owner: e.spec.Owner})
	if err != nil || !left.Done() || len(e.truth()) != 0 {
		t.Errorf("left %v, error %v, in AWS %v", left, err, e.truth())
	}
}

func TestDeleteWaitsUntilAWSIsDone(t *testing.T) {
	e := newProviderAccount(t)
	e.AWS.SetDelays(fakeaws.Delays{ServiceDeleting: time.Minute})
	svc := e.ensure()
	doomed := endpointservice.Deletion{Owner: e.spec.Owner}
	left, err := e.Services.Delete(t.Context(), doomed)
	if err != nil || !slices.Equal(left.Deleting, []string{svc.ID}) {
		t.Fatalf("left %v, error %v", left, err)
	}
	e.Clock.Step(time.Minute)
	if left, err = e.Services.Delete(t.Context(), doomed); err != nil || !left.Done() {
		t.Errorf("left %v, error %v", left, err)
	}
}

func TestDeleteOfAConnectedService(t *testing.T) {
	e := newProviderAccount(t)
	svc := e.ensure()
	theirs := e.AWS.Account(consumer)
	cpo := awsx.EC2(theirs.Config(region, "control-plane-operator"))
	vpc := theirs.AddVPC(region, fakeaws.VPC{})
	made, err := cpo.CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{VpcId: &vpc, ServiceName: &svc.Name, VpcEndpointType: types.VpcEndpointTypeInterface})
	e.Must(err)

	doomed := endpointservice.Deletion{Owner: e.spec.Owner}
	left, err := e.Services.Delete(t.Context(), doomed)
	if want := []string{*made.VpcEndpoint.VpcEndpointId}; err != nil || !slices.Equal(left.Endpoints, want) {
		t.Fatalf("left %v, error %v, want endpoints %v", left, err, want)
	}
	for _, c := range e.AWS.Calls() {
		if c.Operation == "RejectVpcEndpointConnections" {
			t.Fatal("connections were rejected without being told to")
		}
	}

	doomed.RejectConnections = true
	if _, err := e.Services.Delete(t.Context(), doomed); err != nil {
		t.Fatal(err)
	}
	if left, err = e.Services.Delete(t.Context(), doomed); err != nil || !left.Done() {
		t.Errorf("left %v, error %v", left, err)
	}
}
