package awsprivatelink

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// wants fails unless the condition of the private router has all this.
func (e *customerNetwork) wants(status metav1.ConditionStatus, reason string, words ...string) {
	e.T.Helper()
	router := &hyperv1.AWSEndpointService{ObjectMeta: testenv.In(namespace, names.PrivateRouter)}
	e.ExpectConditionOf(router, hyperv1.AWSEndpointAvailable, status, reason, words...)
}

// The condition reports the wait at each stage, and turns True only
// when an available endpoint has its records.
func TestTheConditionReportsEachStage(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	// A pass ends where the fake API server, unlike a real one, does not return
	// the version that a write of the status has made; the next continues.
	passes := func() {
		for range 3 {
			e.Must(e.pass(t.Context()))
		}
	}
	passes()
	e.wants(metav1.ConditionFalse, hyperv1.WaitingForEndpointServiceReason, "management account")

	e.Must(e.runHypershiftOperator(t.Context()))
	passes()
	e.wants(metav1.ConditionFalse, hyperv1.EndpointPendingReason, "is pending")
	if records := e.AWSLines("CNAME"); len(records) > 0 {
		t.Errorf("records of a pending endpoint: %v", records)
	}

	e.Clock.Step(time.Minute)
	passes()
	e.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	if records := e.AWSLines("CNAME"); len(records) != 2 {
		t.Errorf("%d records, want api and *.apps: %v", len(records), records)
	}
}

// Mistakes of users, their conditions, and that the reconcile continues when they
// are corrected.
func TestBadInput(t *testing.T) {
	type expected struct {
		status metav1.ConditionStatus
		reason string
		words  []string
	}
	for name, c := range map[string]struct {
		spoil func(*customerNetwork)
		want  expected
		mend  func(*customerNetwork)
	}{
		"a subnet of another VPC is named, and the others are used": {
			spoil: func(e *customerNetwork) {
				e.subnets = []string{e.subnets[0], e.addSubnet(e.theirs.AddVPC(region, fakeaws.VPC{ID: "vpc-9", CIDR: "10.9.0.0/16"}), e.zones[1])}
			},
			want: expected{metav1.ConditionFalse, hyperv1.SomeSubnetsUnusableReason, []string{"in another VPC", "vpc-9"}},
			mend: func(e *customerNetwork) { e.wantSubnets(e.subnets[0]) },
		},
		"a subnet that does not exist": {
			spoil: func(e *customerNetwork) { e.subnets = []string{"subnet-0", e.subnets[0]} },
			want:  expected{metav1.ConditionFalse, hyperv1.SomeSubnetsUnusableReason, []string{"not found: subnet-0"}},
			mend:  func(e *customerNetwork) { e.wantSubnets(e.subnets[1]) },
		},
		"only subnets that are of no use": {
			spoil: func(e *customerNetwork) { e.subnets = []string{e.subnets[2], "subnet-0"} },
			want:  expected{metav1.ConditionFalse, hyperv1.SubnetsUnusableReason, []string{"none of the subnets", "use1-az", "subnet-0"}},
			mend:  func(e *customerNetwork) { e.wantSubnets(e.addSubnet(e.vpc, e.zones[0])) },
		},
		"a subnet in a zone that the service does not serve is no fault": {
			spoil: func(e *customerNetwork) { e.subnets = []string{e.subnets[0], e.subnets[2]} },
			want:  expected{metav1.ConditionTrue, hyperv1.ZonesNotServedReason, []string{"does not serve", "use1-az"}},
		},
		"no subnet at all": {
			spoil: func(e *customerNetwork) { e.subnets = []string{} },
			want:  expected{metav1.ConditionFalse, hyperv1.WaitingForSubnetsReason, []string{"NodePool"}},
			mend:  func(e *customerNetwork) { e.wantSubnets(e.addSubnet(e.vpc, e.zones[0])) },
		},
		"a role that does not exist": {
			spoil: func(e *customerNetwork) { e.theirs.RemoveRole("demo-cpo") },
			want:  expected{metav1.ConditionFalse, "AWSIdentityInvalid", []string{"AssumeRoleWithWebIdentity", "AccessDenied"}},
			mend:  func(e *customerNetwork) { e.addRole() },
		},
		"an issuer that IAM does not know": {
			spoil: func(e *customerNetwork) { e.theirs.RemoveIdentityProvider(issuer) },
			want:  expected{metav1.ConditionFalse, "AWSIdentityInvalid", []string{issuer}},
			mend:  func(e *customerNetwork) { e.TrustIssuer(e.theirs) },
		},
		"no signing key yet": {
			spoil: func(e *customerNetwork) { e.Must(e.Admin().Delete(t.Context(), testenv.SigningKeySecret())) },
			want:  expected{metav1.ConditionFalse, hyperv1.WaitingForSigningKeyReason, []string{names.ServiceAccountSigningKey}},
			mend:  func(e *customerNetwork) { e.Create(testenv.SigningKeySecret()) },
		},
		"no hosted zone": {
			spoil: func(e *customerNetwork) { e.theirs.RemoveHostedZone(e.zone) },
			want:  expected{metav1.ConditionFalse, "HostedZoneNotFound", []string{"demo.hypershift.local", "vpc-"}},
			mend:  func(e *customerNetwork) { e.addZone(e.vpc) },
		},
		"a hosted zone of another VPC": {
			spoil: func(e *customerNetwork) {
				e.theirs.RemoveHostedZone(e.zone)
				e.addZone(e.theirs.AddVPC(region, fakeaws.VPC{CIDR: "10.9.0.0/16"}))
			},
			want: expected{metav1.ConditionFalse, "HostedZoneNotFound", []string{"associate"}},
			mend: func(e *customerNetwork) { e.addZone(e.vpc) },
		},
		"two hosted zones": {
			spoil: func(e *customerNetwork) { e.addZone(e.vpc) },
			want:  expected{metav1.ConditionFalse, "HostedZoneAmbiguous", []string{"keep one"}},
			mend:  func(e *customerNetwork) { e.theirs.RemoveHostedZone(e.zone) },
		},
		"a machine network that is none": {
			spoil: func(e *customerNetwork) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Networking.MachineNetwork[0].CIDR = "10.0.0.0" })
			},
			want: expected{metav1.ConditionFalse, hyperv1.InvalidPlatformReason, []string{"10.0.0.0", "machineNetwork"}},
			mend: func(e *customerNetwork) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Networking.MachineNetwork[0].CIDR = "10.0.0.0/16" })
			},
		},
		"no VPC": {
			spoil: func(e *customerNetwork) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.CloudProviderConfig = nil })
			},
			want: expected{metav1.ConditionFalse, hyperv1.InvalidPlatformReason, []string{"cloudProviderConfig.vpc"}},
			mend: func(e *customerNetwork) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
					hcp.Spec.Platform.AWS.CloudProviderConfig = &hyperv1.AWSCloudProviderConfig{VPC: e.vpc}
				})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomerNetwork(t)
			c.spoil(e)
			e.start()
			e.runPasses(enough)
			e.wants(c.want.status, c.want.reason, c.want.words...)
			if c.mend != nil {
				c.mend(e)
				e.runPasses(enough)
				e.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
			}
		})
	}
}

func TestManySubnetsAndTwoInAZone(t *testing.T) {
	e := newCustomerNetwork(t)
	for range 12 {
		e.subnets = append(e.subnets, e.addSubnet(e.vpc, e.zones[0]))
	}
	e.start()
	e.runPasses(1)
	e.wantSubnets(e.subnets...)
	e.runPasses(enough)
	e.wants(metav1.ConditionTrue, hyperv1.ZonesNotServedReason)
}

// Every mode follows every other on the living cluster, without a new start.
func TestAccessModes(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	empty := e.AWS.Snapshot()
	for _, mode := range []hyperv1.AWSEndpointAccessType{hyperv1.Private, hyperv1.Public, hyperv1.PublicAndPrivate, hyperv1.Private, hyperv1.PublicAndPrivate, hyperv1.Public} {
		e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = mode })
		e.runPasses(enough)
		private := mode != hyperv1.Public
		if got := len(e.list(t.Context())); got != map[bool]int{true: 1}[private] {
			t.Fatalf("%s: %d AWSEndpointServices", mode, got)
		}
		if private {
			e.isReady()
		} else if now := e.AWS.Snapshot(); now != empty {
			t.Errorf("%s: left in AWS:\n%s", mode, now)
		}
		// Only a cluster without public access needs names for its private endpoint.
		names := &corev1.ServiceList{}
		e.Must(e.Admin().List(t.Context(), names, client.HasLabels{externalPrivateLabel}))
		if got := len(names.Items); got != map[bool]int{true: 1}[mode == hyperv1.Private] {
			t.Errorf("%s: %d private names", mode, got)
		}
	}
}

// The connection of a mode that has ended stays as long as machines use it, and the public names lead to the public load
// balancer as long as that is served.
func TestAPathThatMachinesUseIsKept(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	serve := func(mode, served hyperv1.AWSEndpointAccessType) (endpoints, privateNames int) {
		t.Helper()
		e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Platform.AWS.EndpointAccess, hcp.Status.ServedEndpointAccess = mode, served
		})
		e.runPasses(enough)
		names := &corev1.ServiceList{}
		e.Must(e.Admin().List(t.Context(), names, client.HasLabels{externalPrivateLabel}))
		return len(e.list(t.Context())), len(names.Items)
	}
	for _, c := range []struct {
		mode, served            hyperv1.AWSEndpointAccessType
		endpoints, privateNames int
	}{
		{hyperv1.Private, hyperv1.PublicAndPrivate, 1, 0},
		{hyperv1.Private, hyperv1.Private, 1, 1},
		{hyperv1.Public, hyperv1.PublicAndPrivate, 1, 0},
		{hyperv1.Public, hyperv1.Public, 0, 0},
	} {
		if endpoints, privateNames := serve(c.mode, c.served); endpoints != c.endpoints || privateNames != c.privateNames {
			t.Errorf("%s while %s is served: %d AWSEndpointServices, not %d, and %d private names, not %d", c.mode, c.served, endpoints, c.endpoints, privateNames, c.privateNames)
		}
	}
}

func TestASleepingClusterMayHaveNoEndpoint(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	empty := e.AWS.Snapshot()
	e.runPasses(enough)
	e.isReady()
	for _, c := range []struct {
		phase     hyperv1.SleepPhase
		choice    string
		endpoints int
	}{
		{hyperv1.SleepPhaseAsleep, hyperv1.SleepKeep, 1},
		{hyperv1.SleepPhaseAsleep, hyperv1.SleepDelete, 0},
		{hyperv1.SleepPhaseWaking, hyperv1.SleepDelete, 1},
		{hyperv1.SleepPhaseRemovingMachines, hyperv1.SleepDelete, 1},
	} {
		e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
			metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(c.phase))
			metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepLoadBalancersAnnotation, c.choice)
		})
		e.runPasses(enough)
		if got := len(e.list(t.Context())); got != c.endpoints {
			t.Errorf("%s, %s: %d AWSEndpointServices, not %d", c.phase, c.choice, got, c.endpoints)
		}
		if now := e.AWS.Snapshot(); c.endpoints == 0 && now != empty {
			t.Errorf("left in AWS:\n%s", now)
		}
	}
	e.isReady()
}

// The last NodePool is gone before its nodes are: the endpoint stays as it is.
func TestAnEndpointKeepsItsSubnetsWithoutNodePools(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	before := e.AWS.Snapshot()
	e.wantSubnets()
	e.runPasses(enough)
	e.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	if after := e.AWS.Snapshot(); before != after {
		t.Errorf("the workers were cut off:\n%s", after)
	}
}

func TestPausedClusterIsNotChanged(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hcp.Spec.Networking.MachineNetwork[0].CIDR = "10.8.0.0/16"
		hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
	})
	before := e.Calls.Writes()
	e.runPasses(enough)
	if after := e.Calls.Writes(); after != before {
		t.Errorf("written while paused: %v", e.Calls.Log(before))
	}
	e.Must(e.delete(t.Context()))
	e.runPasses(enough)
	if left := e.list(t.Context()); len(left) > 0 {
		t.Errorf("a pause has stopped the deletion: %+v", left[0].Status.Conditions)
	}
}

// Two clusters of one name in one VPC would take each other's names away.
func TestRecordOfAnotherClusterIsNotChanged(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	first := e.AWSLines("CNAME")

	other := newControlPlane(e, "the other one")
	other.runPasses(enough)
	other.wants(metav1.ConditionFalse, hyperv1.RecordClaimedReason, "another cluster")
	if got := e.AWSLines("CNAME"); strings.Join(got, "\n") != strings.Join(first, "\n") {
		t.Errorf("the first cluster has lost its records: %v", got)
	}
	e.Must(other.delete(t.Context()))
	other.runPasses(enough)
	if got := e.AWSLines("CNAME"); strings.Join(got, "\n") != strings.Join(first, "\n") {
		t.Errorf("the deletion of the other cluster took the records of the first: %v", got)
	}
	e.isReady()
}

// The VPC and the zone belong to a third account, with a role for each.
func TestSharedVPC(t *testing.T) {
	e := newCustomerNetwork(t)
	const owner = "333333333333"
	third := e.AWS.Account(owner)
	trust := []fakeaws.Trust{{Principals: []string{"arn:aws:iam::" + customer + ":role/demo-cpo", e.role}}}
	endpoints := third.AddRole(fakeaws.Role{Name: "endpoints", Trusts: trust})
	dns := third.AddRole(fakeaws.Role{Name: "dns", Trusts: trust})
	e.theirs = third
	e.vpc = third.AddVPC(region, fakeaws.VPC{})
	e.subnets = []string{e.addSubnet(e.vpc, e.zones[0]), e.addSubnet(e.vpc, e.zones[1])}
	zone := third.AddHostedZone(fakeaws.HostedZone{Name: names.LocalZone("demo"), VPCs: []fakeaws.ZoneVPC{{Region: region, ID: e.vpc}}})
	e.allow("arn:aws:iam::" + owner + ":role/endpoints")
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.CloudProviderConfig.VPC = e.vpc
		hcp.Spec.Platform.AWS.SharedVPC = &hyperv1.AWSSharedVPC{LocalZoneID: zone, RolesRef: hyperv1.AWSSharedVPCRolesRef{
			ControlPlaneARN: hyperv1.RoleARN(endpoints), IngressARN: hyperv1.RoleARN(dns)}}
	})
	empty := e.AWS.Snapshot()
	e.start()
	e.runPasses(enough)
	e.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	for _, c := range e.AWS.Calls() {
		role := map[string]string{"ec2": "endpoints", "route53": "dns"}[c.Service]
		if c.Account == owner && c.Role != role && c.Role != "admin" {
			t.Errorf("%s as %s, want %s", c.Action(), c.Role, role)
		}
	}
	e.Must(e.delete(t.Context()))
	e.start() // a new process knows only the records
	e.runPasses(enough)
	if now := e.AWS.Snapshot(); now != empty || len(e.list(t.Context())) > 0 {
		t.Errorf("not deleted:\n%s", now)
	}
}

func TestUnusableLoadBalancerIsNotOffered(t *testing.T) {
	for _, host := range []string{"", "203.0.113.7", "classic-1234.us-east-1.elb.amazonaws.com"} {
		t.Run(fmt.Sprintf("host name %q", host), func(t *testing.T) {
			e := newCustomerNetwork(t)
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.PrivateRouter}}
			e.Change(svc, func() { svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}} })
			e.start()
			e.runPasses(2)
			if got := e.list(t.Context()); len(got) > 0 {
				t.Errorf("offered: %+v", got[0].Spec)
			}
		})
	}
}

// A Service that loses its status for a moment does not cut the workers off.
func TestServiceWithoutStatusKeepsItsOffer(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.PrivateRouter}}
	e.Change(svc, func() { svc.Status.LoadBalancer.Ingress = nil })
	e.runPasses(enough)
	e.isReady()
}

// An object that cannot be read gets a condition, and is not changed.
func TestAnUnreadableControlPlane(t *testing.T) {
	e := newCustomerNetwork(t)
	hcp := &hyperv1.HostedControlPlane{}
	e.Must(hcp.UnmarshalJSON([]byte(`{"metadata":{"namespace":"` + namespace + `","name":"demo"},"spec":{"platform":{"aws":"nonsense"}}}`)))
	if hcp.Unreadable() == "" {
		t.Fatal("this was meant to be unreadable")
	}
	e.start()
	before := e.Calls.Writes()
	if _, err := e.observer.ReconcileObject(t.Context(), hcp); err != nil || e.Calls.Writes() != before {
		t.Errorf("%v, %d writes", err, e.Calls.Writes()-before)
	}
}

// The answer to creating an endpoint is lost again and again, and AWS does not list the created endpoint: still there is never a second
// one.
func TestLostAnswerCreatesOneEndpoint(t *testing.T) {
	e := newCustomerNetwork(t)
	d := fakeaws.UsualDelays
	d.Listed = 50 * time.Second
	e.AWS.SetDelays(d)
	e.AWS.Fault(fakeaws.Fault{Operation: "CreateVpcEndpoint", Kind: fakeaws.AnswerLost, Times: 9})
	for range enough {
		e.start() // a new process each time, with an empty memory
		e.runPasses(1)
		if got := e.AWSLines(" endpoint("); len(got) > 1 {
			t.Fatalf("%d endpoints:\n%s", len(got), strings.Join(got, "\n"))
		}
	}
	e.isReady()
}

// AWS may return fewer items than requested at any time. A program that reads the first page only creates resources twice,
// or leaves them behind.
func TestListsInPagesOfOne(t *testing.T) {
	e := newCustomerNetwork(t)
	e.addService(names.KubeAPIServerPrivate)
	hcp := testenv.HostedControlPlane()
	e.Change(hcp, func() { hcp.Spec.Services = nil })
	e.AWS.SetPageSize(1)
	empty := e.AWS.Snapshot()
	e.start()
	e.run(2 * time.Minute)
	e.isReady()
	made := e.AWS.Snapshot()
	e.start() // a new process reads all lists again
	e.run(2 * time.Minute)
	e.isReady()
	if now := e.AWS.Snapshot(); now != made {
		t.Errorf("a new process has changed resources:\n%s\nwant\n%s", now, made)
	}
	e.Clock.Step(awsx.DeletionListTTL)
	e.Must(e.delete(t.Context()))
	e.run(2 * time.Minute)
	if now := e.AWS.Snapshot(); now != empty || len(e.list(t.Context())) > 0 {
		t.Errorf("left:\n%s", now)
	}
}

// A deletion does not start with an old list: it would not show the remains of an object that was deleted by force.
func TestDeletionListsAgainAfterTheLifetimeOfTheList(t *testing.T) {
	e := newCustomerNetwork(t)
	empty := e.AWS.Snapshot()
	e.start()
	e.run(2 * time.Minute)
	e.isReady()
	var tags []ec2types.Tag
	for k, v := range awsx.OwnedTags(nil, e.list(t.Context())[0].Status.Cleanup.OwnerUID, "lost"+roleSuffix, "demo-x", "lost") {
		tags = append(tags, ec2types.Tag{Key: &k, Value: &v})
	}
	e.try(e.customerEC2().CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("lost"), Description: aws.String("lost"), VpcId: &e.vpc,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: tags}}}))
	e.Clock.Step(awsx.DeletionListTTL)
	e.Must(e.delete(t.Context()))
	e.run(2 * time.Minute)
	if now := e.AWS.Snapshot(); now != empty || len(e.list(t.Context())) > 0 {
		t.Errorf("left:\n%s", now)
	}
}

// AWS refuses the sessions of a deleted role at once. If the role exists again, also with the same name, the deletion takes a new
// session, and does not wait for the end of the old one.
func TestDeletionWithASessionThatAWSRefuses(t *testing.T) {
	for name, refuse := range map[string]func(*customerNetwork){
		"the role was created again": func(e *customerNetwork) { e.theirs.ExpireCredentials("demo-cpo") },
		"the sessions were revoked":  func(e *customerNetwork) { e.theirs.RevokeSessions("demo-cpo") },
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomerNetwork(t)
			e.start()
			e.run(time.Hour)
			e.isReady()
			refuse(e)
			e.Must(e.delete(t.Context()))
			e.runPasses(3 * enough)
			if left := e.list(t.Context()); len(left) > 0 {
				t.Errorf("still there: %+v", left[0].Status.Conditions)
			}
			for _, what := range []string{" endpoint(", " group(demo-x", "CNAME"} {
				if left := e.AWSLines(what); len(left) > 0 {
					t.Errorf("left in AWS: %v", left)
				}
			}
		})
	}
}
