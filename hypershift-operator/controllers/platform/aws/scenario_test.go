package aws

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// A thousand services that appear at once wait for the API server more than for AWS.
func TestTwoWritesMakeAService(t *testing.T) {
	e := newPrivateLink(t)
	e.AWS.SetDelays(fakeaws.Delays{})
	e.Restart()
	e.Once()
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, reconcile.AsExpected, "")
	log := slices.DeleteFunc(e.Calls.Log(0), func(what string) bool { return strings.Contains(what, "VpcEndpointService") })
	if len(log) != 3 {
		t.Errorf("writes %v, want the claim and the status, and once for the cluster the record", log)
	}
}

func TestTheFinalizersOfOthersStay(t *testing.T) {
	e := newPrivateLink(t)
	es := e.service()
	es.Finalizers = []string{hyperv1.ControlPlaneOperatorFinalizer}
	e.Update(es)
	e.Restart()
	e.Run(2)
	want := []string{hyperv1.ControlPlaneOperatorFinalizer, hyperv1.HypershiftOperatorFinalizer}
	if got := slices.Sorted(slices.Values(e.service().Finalizers)); !slices.Equal(got, want) {
		t.Errorf("finalizers %v, want %v", got, want)
	}
}

func TestAServiceTakesFourCallsAndNoneAtRest(t *testing.T) {
	e := newPrivateLink(t)
	e.AWS.SetDelays(fakeaws.Delays{})
	e.Restart()
	e.Once()
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, reconcile.AsExpected, "")
	if calls := e.AWS.Calls(); len(calls) > 4 {
		t.Errorf("%d calls, want 4 at most: %v", len(calls), fakeaws.Count(calls))
	}
	es := e.service()
	if want := []string{"subnet-a", "subnet-b"}; !slices.Equal(es.Spec.SubnetIDs, want) {
		t.Errorf("subnets %v, want %v", es.Spec.SubnetIDs, want)
	}
	if len(es.Status.AvailabilityZoneIDs) != 2 || !strings.HasPrefix(es.Status.AvailabilityZoneIDs[0], "use1-az") {
		t.Errorf("zones %v, want two ids", es.Status.AvailabilityZoneIDs)
	}
	e.AWS.ForgetCalls()
	for range 3 {
		e.Once()
	}
	if calls := e.AWS.Calls(); len(calls) > 0 {
		t.Errorf("calls although nothing changed: %v", fakeaws.Count(calls))
	}
}

func TestAMissingLoadBalancerIsReported(t *testing.T) {
	e := newPrivateLink(t)
	e.mine.RemoveLoadBalancer(region, lbName)
	e.Restart()
	e.Run(2)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, hyperv1.LoadBalancerNotFoundReason, "load balancer "+lbName+" is not in this account and region")
	if got := e.service().Spec.SubnetIDs; len(got) != 2 {
		t.Errorf("subnets %v: they have to wait for nothing", got)
	}
	e.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: lbName, State: "provisioning", Zones: []string{"us-east-1a"}})
	e.Run(1)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, hyperv1.LoadBalancerNotActiveReason, "provisioning")
	e.mine.SetLoadBalancerState(region, lbName, "active")
	e.Run(3)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, reconcile.AsExpected, "")
}

func TestAReplacedLoadBalancerKeepsTheService(t *testing.T) {
	e := newPrivateLink(t)
	e.Run(4)
	before := e.service().Status
	e.mine.RemoveLoadBalancer(region, lbName)
	arn, _ := e.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: lbName, Zones: []string{"us-east-1c"}})
	e.Clock.Step(resync)
	e.Run(3)
	after := e.service().Status
	if after.EndpointServiceName != before.EndpointServiceName || after.NetworkLoadBalancerARN != arn || len(after.AvailabilityZoneIDs) != 1 {
		t.Errorf("got %+v, want service %s on %s in one zone", after, before.EndpointServiceName, arn)
	}
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, reconcile.AsExpected, "")
}

func TestADeletedServiceIsRecreated(t *testing.T) {
	e := newPrivateLink(t)
	e.cpoRuns = false
	e.Restart()
	e.Run(4)
	before := e.service().Status.EndpointServiceName
	ho := awsx.EC2(e.mine.Config(region, "somebody"))
	if _, err := ho.DeleteVpcEndpointServiceConfigurations(t.Context(), &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{before[strings.LastIndex(before, ".")+1:]}}); err != nil {
		t.Fatal(err)
	}
	e.Clock.Step(resync)
	e.Run(5)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, reconcile.AsExpected, "")
	if after := e.service().Status.EndpointServiceName; after == before {
		t.Errorf("still %s", after)
	}
}

func TestAPoolThatChoosesByFiltersIsNamed(t *testing.T) {
	e := newPrivateLink(t)
	np := &hyperv1.NodePool{ObjectMeta: testenv.In("clusters", "b")}
	e.Change(np, func() {
		np.Spec.Platform.AWS.Subnet = hyperv1.AWSResourceReference{Filters: []hyperv1.Filter{{Name: "tag:Name", Values: []string{"x"}}}}
	})
	e.Restart()
	e.Run(4)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, reconcile.AsExpected, "node pools b choose their subnet by filters")
}

func TestARemovedTagIsRemovedFromTheService(t *testing.T) {
	e := newPrivateLink(t)
	e.Run(4)
	somebody := awsx.EC2(e.mine.Config(region, "somebody"))
	id := e.service().Status.EndpointServiceName
	id = id[strings.LastIndex(id, ".")+1:]
	if _, err := somebody.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: ptr.To("cost"), Value: ptr.To("42")}}}); err != nil {
		t.Fatal(err)
	}
	es := endpointService()
	e.Change(es, func() {
		es.Spec.ResourceTags = []hyperv1.AWSResourceTag{{Key: "stage", Value: "green"}}
	})
	e.Run(2)
	out, err := somebody.DescribeVpcEndpointServiceConfigurations(t.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
	e.Must(err)
	var keys []string
	for _, tag := range out.ServiceConfigurations[0].Tags {
		keys = append(keys, *tag.Key)
	}
	slices.Sort(keys)
	want := []string{awsx.NameTag, "cost", awsx.OwnerTag, awsx.RoleTag, "kubernetes.io/cluster/demo-x", "stage"}
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		t.Errorf("tags %v, want %v", keys, want)
	}
	e.AWS.ForgetCalls()
	e.Run(2)
	if calls := fakeaws.By(e.AWS.Calls(), provider, "hypershift-operator"); len(calls) > 0 {
		t.Errorf("calls although nothing changed: %v", fakeaws.Count(calls))
	}
}

func TestPrincipalsFollowTheHostedCluster(t *testing.T) {
	e := newPrivateLink(t)
	e.Run(4)
	hc := testenv.PrivateCluster()
	e.Change(hc, func() {
		hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = []string{"arn:aws:iam::333333333333:root"}
	})
	e.Run(1)
	if got := e.principals(); !slices.Equal(got, []string{"arn:aws:iam::222222222222:role/demo-cpo", "arn:aws:iam::333333333333:root"}) {
		t.Errorf("principals %v", got)
	}
	e.Change(hc, func() { hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = nil })
	e.Run(1)
	if got := e.principals(); !slices.Equal(got, []string{"arn:aws:iam::222222222222:role/demo-cpo"}) {
		t.Errorf("principals %v", got)
	}
}

func (e *privateLink) principals() []string {
	e.T.Helper()
	name := e.service().Status.EndpointServiceName
	out, err := awsx.EC2(e.mine.Config(region, "somebody")).DescribeVpcEndpointServicePermissions(e.T.Context(),
		&ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: aws.String(name[strings.LastIndex(name, ".")+1:])})
	e.Must(err)
	var arns []string
	for _, p := range out.AllowedPrincipals {
		arns = append(arns, *p.Principal)
	}
	slices.Sort(arns)
	return arns
}

func TestAPauseStopsChangesAndNotTheDeletion(t *testing.T) {
	e := newPrivateLink(t)
	e.Run(4)
	hc := testenv.PrivateCluster()
	e.Change(hc, func() { hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
	e.Create(pool("c", "subnet-c"))
	e.Run(2)
	if got := e.service().Spec.SubnetIDs; len(got) != 2 {
		t.Errorf("subnets %v changed in spite of the pause", got)
	}
	e.Delete(endpointService())
	e.Run(10)
	if e.Exists(endpointService()) {
		t.Error("still there")
	}
}

// A process that has found and deleted the service does not wait for AWS to list
// another one, although another writer changed the object at that moment.
func TestDeletionOfAFoundServiceDoesNotAwaitConsistency(t *testing.T) {
	e := newPrivateLink(t)
	e.AWS.SetDelays(fakeaws.Delays{})
	r := e.reconciler()
	conflicts := 0
	r.Client = e.ClientWith(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			if !obj.GetDeletionTimestamp().IsZero() && conflicts == 0 {
				conflicts++
				return apierrors.NewConflict(schema.GroupResource{Resource: "awsendpointservices"}, obj.GetName(), errors.New("somebody else wrote"))
			}
			return c.Patch(ctx, obj, p, opts...)
		},
	})
	r.ledger = r.newLedger()
	e.Use(e.passOf(r))
	atOnce := func(passes int) { // the clock stands still
		for range passes {
			_ = e.Try()
			e.Must(e.runControlPlaneOperator(t.Context()))
		}
	}
	atOnce(4)
	e.Delete(endpointService())
	atOnce(4)
	if conflicts == 0 {
		t.Fatal("nobody wrote")
	}
	if es := endpointService(); e.Exists(es) {
		t.Errorf("the object is still there: %+v", es.Status.Conditions)
	}
}

func TestALiveEndpointIsNotCutOff(t *testing.T) {
	e := newPrivateLink(t)
	e.Run(4)
	e.cpoRuns = false
	e.Delete(endpointService())
	e.AWS.ForgetCalls()
	e.Run(5)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "waiting for the VPC endpoint")
	if calls := fakeaws.By(e.AWS.Calls(), provider, "hypershift-operator"); len(calls) > 0 {
		t.Errorf("calls while the customer's half is at work: %v", fakeaws.Count(calls))
	}

	// The endpoint is never deleted: the finalizer was removed by force.
	es := e.service()
	es.Finalizers = []string{hyperv1.HypershiftOperatorFinalizer}
	e.Update(es)
	e.Run(4)
	if e.Exists(endpointService()) {
		t.Error("still there")
	}
	if n := fakeaws.Count(e.AWS.Calls())["ec2:RejectVpcEndpointConnections"]; n != 1 {
		t.Errorf("connections were rejected %d times, want once", n)
	}
}

func TestThrottlingDoesNotMakeAGoodServiceBad(t *testing.T) {
	e := newPrivateLink(t)
	e.Run(4)
	e.Clock.Step(resync)
	heal := e.AWS.Fault(fakeaws.Fault{Service: fakeaws.EC2, Kind: fakeaws.Throttled, Times: fakeaws.Forever, Account: provider})
	e.RunFailing(2)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, reconcile.AsExpected, "")
	heal()
	e.Clock.Step(2 * awsx.PrincipalsTTL)
	e.AWS.Fault(fakeaws.Fault{Operation: "DescribeVpcEndpointServicePermissions", Kind: fakeaws.Denied, Times: fakeaws.Forever, Account: provider})
	e.RunFailing(2)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, "AWSAccessDenied", "DescribeVpcEndpointServicePermissions")
}

func TestAnObjectWithoutACluster(t *testing.T) {
	e := newPrivateLink(t)
	e.Delete(testenv.HostedControlPlane())
	e.Restart()
	e.Run(2)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, hyperv1.WaitingForHostedClusterReason, "no control plane")
	e.Delete(endpointService())
	e.Run(2)
	if e.Exists(endpointService()) {
		t.Error("still there")
	}
}
