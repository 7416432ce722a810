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
func (w *testEnv) wants(status metav1.ConditionStatus, reason string, words ...string) {
	w.T.Helper()
	c := w.condition(names.PrivateRouter)
	if c.Status != status || c.Reason != reason {
		w.T.Errorf("AWSEndpointAvailable is %s %s %q, want %s %s", c.Status, c.Reason, c.Message, status, reason)
	}
	for _, word := range words {
		if !strings.Contains(c.Message, word) {
			w.T.Errorf("the message does not say %q: %q", word, c.Message)
		}
	}
}

// The condition reports the wait at each stage, and turns True only
// when an available endpoint has its records.
func TestTheConditionReportsEachStage(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	// A pass ends where the fake API server, unlike a real one, does not return
	// the version that a write of the status has made; the next continues.
	passes := func() {
		for range 3 {
			w.Must(w.pass(t.Context()))
		}
	}
	passes()
	w.wants(metav1.ConditionFalse, hyperv1.WaitingForEndpointServiceReason, "management account")

	w.Must(w.runHypershiftOperator(t.Context()))
	passes()
	w.wants(metav1.ConditionFalse, hyperv1.EndpointPendingReason, "is pending")
	if records := w.inAWS("CNAME"); len(records) > 0 {
		t.Errorf("records of a pending endpoint: %v", records)
	}

	w.Clock.Step(time.Minute)
	passes()
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	if records := w.inAWS("CNAME"); len(records) != 2 {
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
		spoil func(*testEnv)
		want  expected
		mend  func(*testEnv)
	}{
		"a subnet of another VPC is named, and the others are used": {
			spoil: func(w *testEnv) {
				w.subnets = []string{w.subnets[0], w.addSubnet(w.theirs.AddVPC(region, fakeaws.VPC{ID: "vpc-9", CIDR: "10.9.0.0/16"}), w.zones[1])}
			},
			want: expected{metav1.ConditionFalse, hyperv1.SomeSubnetsUnusableReason, []string{"in another VPC", "vpc-9"}},
			mend: func(w *testEnv) { w.wantSubnets(w.subnets[0]) },
		},
		"a subnet that does not exist": {
			spoil: func(w *testEnv) { w.subnets = []string{"subnet-0", w.subnets[0]} },
			want:  expected{metav1.ConditionFalse, hyperv1.SomeSubnetsUnusableReason, []string{"not found: subnet-0"}},
			mend:  func(w *testEnv) { w.wantSubnets(w.subnets[1]) },
		},
		"only subnets that are of no use": {
			spoil: func(w *testEnv) { w.subnets = []string{w.subnets[2], "subnet-0"} },
			want:  expected{metav1.ConditionFalse, hyperv1.SubnetsUnusableReason, []string{"none of the subnets", "use1-az", "subnet-0"}},
			mend:  func(w *testEnv) { w.wantSubnets(w.addSubnet(w.vpc, w.zones[0])) },
		},
		"a subnet in a zone that the service does not serve is no fault": {
			spoil: func(w *testEnv) { w.subnets = []string{w.subnets[0], w.subnets[2]} },
			want:  expected{metav1.ConditionTrue, hyperv1.ZonesNotServedReason, []string{"does not serve", "use1-az"}},
		},
		"no subnet at all": {
			spoil: func(w *testEnv) { w.subnets = []string{} },
			want:  expected{metav1.ConditionFalse, hyperv1.WaitingForSubnetsReason, []string{"NodePool"}},
			mend:  func(w *testEnv) { w.wantSubnets(w.addSubnet(w.vpc, w.zones[0])) },
		},
		"a role that does not exist": {
			spoil: func(w *testEnv) { w.theirs.RemoveRole("demo-cpo") },
			want:  expected{metav1.ConditionFalse, "AWSIdentityInvalid", []string{"AssumeRoleWithWebIdentity", "AccessDenied"}},
			mend:  func(w *testEnv) { w.addRole() },
		},
		"an issuer that IAM does not know": {
			spoil: func(w *testEnv) { w.theirs.RemoveIdentityProvider(issuer) },
			want:  expected{metav1.ConditionFalse, "AWSIdentityInvalid", []string{issuer}},
			mend:  func(w *testEnv) { w.TrustIssuer(w.theirs) },
		},
		"no signing key yet": {
			spoil: func(w *testEnv) { w.Must(w.Admin().Delete(t.Context(), testenv.SigningKeySecret())) },
			want:  expected{metav1.ConditionFalse, hyperv1.WaitingForSigningKeyReason, []string{names.ServiceAccountSigningKey}},
			mend:  func(w *testEnv) { w.create(testenv.SigningKeySecret()) },
		},
		"no hosted zone": {
			spoil: func(w *testEnv) { w.theirs.RemoveHostedZone(w.zone) },
			want:  expected{metav1.ConditionFalse, "HostedZoneNotFound", []string{"demo.hypershift.local", "vpc-"}},
			mend:  func(w *testEnv) { w.addZone(w.vpc) },
		},
		"a hosted zone of another VPC": {
			spoil: func(w *testEnv) {
				w.theirs.RemoveHostedZone(w.zone)
				w.addZone(w.theirs.AddVPC(region, fakeaws.VPC{CIDR: "10.9.0.0/16"}))
			},
			want: expected{metav1.ConditionFalse, "HostedZoneNotFound", []string{"associate"}},
			mend: func(w *testEnv) { w.addZone(w.vpc) },
		},
		"two hosted zones": {
			spoil: func(w *testEnv) { w.addZone(w.vpc) },
			want:  expected{metav1.ConditionFalse, "HostedZoneAmbiguous", []string{"keep one"}},
			mend:  func(w *testEnv) { w.theirs.RemoveHostedZone(w.zone) },
		},
		"a machine network that is none": {
			spoil: func(w *testEnv) {
				w.changeControlPlane(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Networking.MachineNetwork[0].CIDR = "10.0.0.0" })
			},
			want: expected{metav1.ConditionFalse, hyperv1.InvalidPlatformReason, []string{"10.0.0.0", "machineNetwork"}},
			mend: func(w *testEnv) {
				w.changeControlPlane(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Networking.MachineNetwork[0].CIDR = "10.0.0.0/16" })
			},
		},
		"no VPC": {
			spoil: func(w *testEnv) {
				w.changeControlPlane(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.CloudProviderConfig = nil })
			},
			want: expected{metav1.ConditionFalse, hyperv1.InvalidPlatformReason, []string{"cloudProviderConfig.vpc"}},
			mend: func(w *testEnv) {
				w.changeControlPlane(func(hcp *hyperv1.HostedControlPlane) {
					hcp.Spec.Platform.AWS.CloudProviderConfig = &hyperv1.AWSCloudProviderConfig{VPC: w.vpc}
				})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			c.spoil(w)
			w.start()
			w.runPasses(enough)
			w.wants(c.want.status, c.want.reason, c.want.words...)
			if c.mend != nil {
				c.mend(w)
				w.runPasses(enough)
				w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
			}
		})
	}
}

func TestManySubnetsAndTwoInAZone(t *testing.T) {
	w := newTestEnv(t)
	for range 12 {
		w.subnets = append(w.subnets, w.addSubnet(w.vpc, w.zones[0]))
	}
	w.start()
	w.runPasses(1)
	w.wantSubnets(w.subnets...)
	w.runPasses(enough)
	w.wants(metav1.ConditionTrue, hyperv1.ZonesNotServedReason)
}

// Every mode follows every other on the living cluster, without a new start.
func TestAccessModes(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	empty := w.AWS.Snapshot()
	for _, mode := range []hyperv1.AWSEndpointAccessType{hyperv1.Private, hyperv1.Public, hyperv1.PublicAndPrivate, hyperv1.Private, hyperv1.PublicAndPrivate, hyperv1.Public} {
		w.changeControlPlane(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = mode })
		w.runPasses(enough)
		private := mode != hyperv1.Public
		if got := len(w.list(t.Context())); got != map[bool]int{true: 1}[private] {
			t.Fatalf("%s: %d AWSEndpointServices", mode, got)
		}
		if private {
			w.isReady()
		} else if now := w.AWS.Snapshot(); now != empty {
			t.Errorf("%s: left in AWS:\n%s", mode, now)
		}
		// Only a cluster without public access needs names for its private endpoint.
		names := &corev1.ServiceList{}
		w.Must(w.Admin().List(t.Context(), names, client.HasLabels{externalPrivateLabel}))
		if got := len(names.Items); got != map[bool]int{true: 1}[mode == hyperv1.Private] {
			t.Errorf("%s: %d private names", mode, got)
		}
	}
}

// The connection of a mode that has ended stays as long as machines use it, and the public names lead to the public load
// balancer as long as that is served.
func TestAPathThatMachinesUseIsKept(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	serve := func(mode, served hyperv1.AWSEndpointAccessType) (endpoints, privateNames int) {
		t.Helper()
		w.changeControlPlane(func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Platform.AWS.EndpointAccess, hcp.Status.ServedEndpointAccess = mode, served
		})
		w.runPasses(enough)
		names := &corev1.ServiceList{}
		w.Must(w.Admin().List(t.Context(), names, client.HasLabels{externalPrivateLabel}))
		return len(w.list(t.Context())), len(names.Items)
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

// The last NodePool is gone before its nodes are: the endpoint stays as it is.
func TestAnEndpointKeepsItsSubnetsWithoutNodePools(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	w.runPasses(enough)
	before := w.AWS.Snapshot()
	w.wantSubnets()
	w.runPasses(enough)
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	if after := w.AWS.Snapshot(); before != after {
		t.Errorf("the workers were cut off:\n%s", after)
	}
}

func TestPausedClusterIsNotChanged(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	w.runPasses(enough)
	w.changeControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hcp.Spec.Networking.MachineNetwork[0].CIDR = "10.8.0.0/16"
		hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
	})
	before := w.Calls.Writes()
	w.runPasses(enough)
	if after := w.Calls.Writes(); after != before {
		t.Errorf("written while paused: %v", w.Calls.Log(before))
	}
	w.Must(w.delete(t.Context()))
	w.runPasses(enough)
	if left := w.list(t.Context()); len(left) > 0 {
		t.Errorf("a pause has stopped the deletion: %+v", left[0].Status.Conditions)
	}
}

// Two clusters of one name in one VPC would take each other's names away.
func TestRecordOfAnotherClusterIsNotChanged(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	w.runPasses(enough)
	first := w.inAWS("CNAME")

	other := newControlPlane(w, "the other one")
	other.runPasses(enough)
	other.wants(metav1.ConditionFalse, hyperv1.RecordClaimedReason, "another cluster")
	if got := w.inAWS("CNAME"); strings.Join(got, "\n") != strings.Join(first, "\n") {
		t.Errorf("the first cluster has lost its records: %v", got)
	}
	w.Must(other.delete(t.Context()))
	other.runPasses(enough)
	if got := w.inAWS("CNAME"); strings.Join(got, "\n") != strings.Join(first, "\n") {
		t.Errorf("the deletion of the other cluster took the records of the first: %v", got)
	}
	w.isReady()
}

// The VPC and the zone belong to a third account, with a role for each.
func TestSharedVPC(t *testing.T) {
	w := newTestEnv(t)
	const owner = "333333333333"
	third := w.AWS.Account(owner)
	trust := []fakeaws.Trust{{Principals: []string{"arn:aws:iam::" + customer + ":role/demo-cpo", w.role}}}
	endpoints := third.AddRole(fakeaws.Role{Name: "endpoints", Trusts: trust})
	dns := third.AddRole(fakeaws.Role{Name: "dns", Trusts: trust})
	w.theirs = third
	w.vpc = third.AddVPC(region, fakeaws.VPC{})
	w.subnets = []string{w.addSubnet(w.vpc, w.zones[0]), w.addSubnet(w.vpc, w.zones[1])}
	zone := third.AddHostedZone(fakeaws.HostedZone{Name: names.LocalZone("demo"), VPCs: []fakeaws.ZoneVPC{{Region: region, ID: w.vpc}}})
	w.allow("arn:aws:iam::" + owner + ":role/endpoints")
	w.changeControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.CloudProviderConfig.VPC = w.vpc
		hcp.Spec.Platform.AWS.SharedVPC = &hyperv1.AWSSharedVPC{LocalZoneID: zone, RolesRef: hyperv1.AWSSharedVPCRolesRef{
			ControlPlaneARN: hyperv1.RoleARN(endpoints), IngressARN: hyperv1.RoleARN(dns)}}
	})
	empty := w.AWS.Snapshot()
	w.start()
	w.runPasses(enough)
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	for _, c := range w.AWS.Calls() {
		role := map[string]string{"ec2": "endpoints", "route53": "dns"}[c.Service]
		if c.Account == owner && c.Role != role && c.Role != "admin" {
			t.Errorf("%s as %s, want %s", c.Action(), c.Role, role)
		}
	}
	w.Must(w.delete(t.Context()))
	w.start() // a new process knows only the records
	w.runPasses(enough)
	if now := w.AWS.Snapshot(); now != empty || len(w.list(t.Context())) > 0 {
		t.Errorf("not deleted:\n%s", now)
	}
}

func TestUnusableLoadBalancerIsNotOffered(t *testing.T) {
	for _, host := range []string{"", "203.0.113.7", "classic-1234.us-east-1.elb.amazonaws.com"} {
		t.Run(fmt.Sprintf("host name %q", host), func(t *testing.T) {
			w := newTestEnv(t)
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.PrivateRouter}}
			w.change(svc, func() { svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}} })
			w.start()
			w.runPasses(2)
			if got := w.list(t.Context()); len(got) > 0 {
				t.Errorf("offered: %+v", got[0].Spec)
			}
		})
	}
}

// A Service that loses its status for a moment does not cut the workers off.
func TestServiceWithoutStatusKeepsItsOffer(t *testing.T) {
	w := newTestEnv(t)
	w.start()
	w.runPasses(enough)
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.PrivateRouter}}
	w.change(svc, func() { svc.Status.LoadBalancer.Ingress = nil })
	w.runPasses(enough)
	w.isReady()
}

// An object that cannot be read gets a condition, and is not changed.
func TestAnUnreadableControlPlane(t *testing.T) {
	w := newTestEnv(t)
	hcp := &hyperv1.HostedControlPlane{}
	w.Must(hcp.UnmarshalJSON([]byte(`{"metadata":{"namespace":"` + namespace + `","name":"demo"},"spec":{"platform":{"aws":"nonsense"}}}`)))
	if hcp.Unreadable() == "" {
		t.Fatal("this was meant to be unreadable")
	}
	w.start()
	before := w.Calls.Writes()
	if _, err := w.observer.ReconcileObject(t.Context(), hcp); err != nil || w.Calls.Writes() != before {
		t.Errorf("%v, %d writes", err, w.Calls.Writes()-before)
	}
}

// The answer to creating an endpoint is lost again and again, and AWS does not list the created endpoint: still there is never a second
// one.
func TestLostAnswerCreatesOneEndpoint(t *testing.T) {
	w := newTestEnv(t)
	d := fakeaws.UsualDelays
	d.Listed = 50 * time.Second
	w.AWS.SetDelays(d)
	w.AWS.Fault(fakeaws.Fault{Operation: "CreateVpcEndpoint", Kind: fakeaws.AnswerLost, Times: 9})
	for range enough {
		w.start() // a new process each time, with an empty memory
		w.runPasses(1)
		if got := w.inAWS(" endpoint("); len(got) > 1 {
			t.Fatalf("%d endpoints:\n%s", len(got), strings.Join(got, "\n"))
		}
	}
	w.isReady()
}

// AWS may return fewer items than requested at any time. A program that reads the first page only creates resources twice,
// or leaves them behind.
func TestListsInPagesOfOne(t *testing.T) {
	w := newTestEnv(t)
	w.addService(names.KubeAPIServerPrivate)
	hcp := w.hcp()
	w.change(hcp, func() { hcp.Spec.Services = nil })
	w.AWS.SetPageSize(1)
	empty := w.AWS.Snapshot()
	w.start()
	w.run(2 * time.Minute)
	w.isReady()
	made := w.AWS.Snapshot()
	w.start() // a new process reads all lists again
	w.run(2 * time.Minute)
	w.isReady()
	if now := w.AWS.Snapshot(); now != made {
		t.Errorf("a new process has changed resources:\n%s\nwant\n%s", now, made)
	}
	w.Clock.Step(awsx.DeletionListTTL)
	w.Must(w.delete(t.Context()))
	w.run(2 * time.Minute)
	if now := w.AWS.Snapshot(); now != empty || len(w.list(t.Context())) > 0 {
		t.Errorf("left:\n%s", now)
	}
}

// A deletion does not start with an old list: it would not show the remains of an object that was deleted by force.
func TestDeletionListsAgainAfterTheLifetimeOfTheList(t *testing.T) {
	w := newTestEnv(t)
	empty := w.AWS.Snapshot()
	w.start()
	w.run(2 * time.Minute)
	w.isReady()
	var tags []ec2types.Tag
	for k, v := range awsx.OwnedTags(nil, w.list(t.Context())[0].Status.Cleanup.OwnerUID, "lost"+roleSuffix, "demo-x", "lost") {
		tags = append(tags, ec2types.Tag{Key: &k, Value: &v})
	}
	w.try(w.customerEC2().CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("lost"), Description: aws.String("lost"), VpcId: &w.vpc,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: tags}}}))
	w.Clock.Step(awsx.DeletionListTTL)
	w.Must(w.delete(t.Context()))
	w.run(2 * time.Minute)
	if now := w.AWS.Snapshot(); now != empty || len(w.list(t.Context())) > 0 {
		t.Errorf("left:\n%s", now)
	}
}

// AWS refuses the sessions of a deleted role at once. If the role exists again, also with the same name, the deletion takes a new
// session, and does not wait for the end of the old one.
func TestDeletionWithASessionThatAWSRefuses(t *testing.T) {
	for name, refuse := range map[string]func(*testEnv){
		"the role was created again": func(w *testEnv) { w.theirs.ExpireCredentials("demo-cpo") },
		"the sessions were revoked":  func(w *testEnv) { w.theirs.RevokeSessions("demo-cpo") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.start()
			w.run(time.Hour)
			w.isReady()
			refuse(w)
			w.Must(w.delete(t.Context()))
			w.runPasses(3 * enough)
			if left := w.list(t.Context()); len(left) > 0 {
				t.Errorf("still there: %+v", left[0].Status.Conditions)
			}
			for _, what := range []string{" endpoint(", " group(demo-x", "CNAME"} {
				if left := w.inAWS(what); len(left) > 0 {
					t.Errorf("left in AWS: %v", left)
				}
			}
		})
	}
}
