package aws

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// run lets everybody do their work for a number of passes. That a pass fails is
// part of some stories.
func (w *testEnv) run(t *testing.T, pass func(context.Context) error, passes int) {
	t.Helper()
	for range passes {
		_ = pass(t.Context())
		if err := w.runControlPlaneOperator(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Clock.Step(20 * time.Second)
	}
}

func (w *testEnv) es(t *testing.T, name string) *hyperv1.AWSEndpointService {
	t.Helper()
	es, err := w.get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return es
}

// want looks at the condition of an object: its status, its reason, words of its message.
func (w *testEnv) want(t *testing.T, name string, status metav1.ConditionStatus, reason, words string) {
	t.Helper()
	c := meta.FindStatusCondition(w.es(t, name).Status.Conditions, hyperv1.AWSEndpointServiceAvailable)
	if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, words) {
		t.Errorf("%s says %+v, want %s/%s %q", name, c, status, reason, words)
	}
}

func (w *testEnv) update(t *testing.T, obj client.Object, key client.ObjectKey, edit func()) {
	t.Helper()
	if err := w.Admin().Get(t.Context(), key, obj); err != nil {
		t.Fatal(err)
	}
	edit()
	if err := w.Admin().Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

var cluster = client.ObjectKey{Namespace: "clusters", Name: "demo"}

// A thousand services that appear at once wait for the API server more than for AWS.
func TestTwoWritesMakeAService(t *testing.T) {
	w := newTestEnv(t)
	w.AWS.SetDelays(fakeaws.Delays{})
	if err := w.start()(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(t, "private-router", metav1.ConditionTrue, reconcile.AsExpected, "")
	log := slices.DeleteFunc(w.Calls.Log(0), func(what string) bool { return strings.Contains(what, "VpcEndpointService") })
	if len(log) != 3 {
		t.Errorf("writes %v, want the claim and the status, and once for the cluster the record", log)
	}
}

func TestTheFinalizersOfOthersStay(t *testing.T) {
	w := newTestEnv(t)
	es := w.es(t, "private-router")
	es.Finalizers = []string{hyperv1.ControlPlaneOperatorFinalizer}
	if err := w.Admin().Update(t.Context(), es); err != nil {
		t.Fatal(err)
	}
	w.run(t, w.start(), 2)
	want := []string{hyperv1.ControlPlaneOperatorFinalizer, hyperv1.HypershiftOperatorFinalizer}
	if got := slices.Sorted(slices.Values(w.es(t, "private-router").Finalizers)); !slices.Equal(got, want) {
		t.Errorf("finalizers %v, want %v", got, want)
	}
}

func TestAServiceTakesFourCallsAndNoneAtRest(t *testing.T) {
	w := newTestEnv(t)
	w.AWS.SetDelays(fakeaws.Delays{})
	pass := w.start()
	if err := pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(t, "private-router", metav1.ConditionTrue, reconcile.AsExpected, "")
	if calls := w.AWS.Calls(); len(calls) > 4 {
		t.Errorf("%d calls, want 4 at most: %v", len(calls), fakeaws.Count(calls))
	}
	es := w.es(t, "private-router")
	if want := []string{"subnet-a", "subnet-b"}; !slices.Equal(es.Spec.SubnetIDs, want) {
		t.Errorf("subnets %v, want %v", es.Spec.SubnetIDs, want)
	}
	if len(es.Status.AvailabilityZoneIDs) != 2 || !strings.HasPrefix(es.Status.AvailabilityZoneIDs[0], "use1-az") {
		t.Errorf("zones %v, want two ids", es.Status.AvailabilityZoneIDs)
	}
	w.AWS.ForgetCalls()
	for range 3 {
		if err := pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if calls := w.AWS.Calls(); len(calls) > 0 {
		t.Errorf("calls although nothing changed: %v", fakeaws.Count(calls))
	}
}

func TestAMissingLoadBalancerIsReported(t *testing.T) {
	w := newTestEnv(t)
	w.mine.RemoveLoadBalancer(region, lbName)
	pass := w.start()
	w.run(t, pass, 2)
	w.want(t, "private-router", metav1.ConditionFalse, hyperv1.LoadBalancerNotFoundReason, "load balancer "+lbName+" is not in this account and region")
	if got := w.es(t, "private-router").Spec.SubnetIDs; len(got) != 2 {
		t.Errorf("subnets %v: they have to wait for nothing", got)
	}
	w.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: lbName, State: "provisioning", Zones: []string{"us-east-1a"}})
	w.run(t, pass, 1)
	w.want(t, "private-router", metav1.ConditionFalse, hyperv1.LoadBalancerNotActiveReason, "provisioning")
	w.mine.SetLoadBalancerState(region, lbName, "active")
	w.run(t, pass, 3)
	w.want(t, "private-router", metav1.ConditionTrue, reconcile.AsExpected, "")
}

func TestAReplacedLoadBalancerKeepsTheService(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	before := w.es(t, "private-router").Status
	w.mine.RemoveLoadBalancer(region, lbName)
	arn, _ := w.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: lbName, Zones: []string{"us-east-1c"}})
	w.Clock.Step(resync)
	w.run(t, pass, 3)
	after := w.es(t, "private-router").Status
	if after.EndpointServiceName != before.EndpointServiceName || after.NetworkLoadBalancerARN != arn || len(after.AvailabilityZoneIDs) != 1 {
		t.Errorf("got %+v, want service %s on %s in one zone", after, before.EndpointServiceName, arn)
	}
	w.want(t, "private-router", metav1.ConditionTrue, reconcile.AsExpected, "")
}

func TestADeletedServiceIsRecreated(t *testing.T) {
	w := newTestEnv(t)
	w.cpoRuns = false
	pass := w.start()
	w.run(t, pass, 4)
	before := w.es(t, "private-router").Status.EndpointServiceName
	ho := awsx.EC2(w.mine.Config(region, "somebody"))
	if _, err := ho.DeleteVpcEndpointServiceConfigurations(t.Context(), &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{before[strings.LastIndex(before, ".")+1:]}}); err != nil {
		t.Fatal(err)
	}
	w.Clock.Step(resync)
	w.run(t, pass, 5)
	w.want(t, "private-router", metav1.ConditionTrue, reconcile.AsExpected, "")
	if after := w.es(t, "private-router").Status.EndpointServiceName; after == before {
		t.Errorf("still %s", after)
	}
}

func TestAPoolThatChoosesByFiltersIsNamed(t *testing.T) {
	w := newTestEnv(t)
	np := &hyperv1.NodePool{}
	w.update(t, np, client.ObjectKey{Namespace: "clusters", Name: "b"}, func() {
		np.Spec.Platform.AWS.Subnet = hyperv1.AWSResourceReference{Filters: []hyperv1.Filter{{Name: "tag:Name", Values: []string{"x"}}}}
	})
	w.run(t, w.start(), 4)
	w.want(t, "private-router", metav1.ConditionTrue, reconcile.AsExpected, "node pools b choose their subnet by filters")
}

func TestARemovedTagIsRemovedFromTheService(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	somebody := awsx.EC2(w.mine.Config(region, "somebody"))
	id := w.es(t, "private-router").Status.EndpointServiceName
	id = id[strings.LastIndex(id, ".")+1:]
	if _, err := somebody.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: ptr.To("cost"), Value: ptr.To("42")}}}); err != nil {
		t.Fatal(err)
	}
	es := &hyperv1.AWSEndpointService{}
	w.update(t, es, client.ObjectKey{Namespace: "clusters-demo", Name: "private-router"}, func() {
		es.Spec.ResourceTags = []hyperv1.AWSResourceTag{{Key: "stage", Value: "green"}}
	})
	w.run(t, pass, 2)
	out, err := somebody.DescribeVpcEndpointServiceConfigurations(t.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
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
	w.AWS.ForgetCalls()
	w.run(t, pass, 2)
	if calls := fakeaws.By(w.AWS.Calls(), provider, "hypershift-operator"); len(calls) > 0 {
		t.Errorf("calls although nothing changed: %v", fakeaws.Count(calls))
	}
}

func TestPrincipalsFollowTheHostedCluster(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	hc := &hyperv1.HostedCluster{}
	w.update(t, hc, cluster, func() {
		hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = []string{"arn:aws:iam::333333333333:root"}
	})
	w.run(t, pass, 1)
	if got := w.principals(t); !slices.Equal(got, []string{"arn:aws:iam::222222222222:role/demo-cpo", "arn:aws:iam::333333333333:root"}) {
		t.Errorf("principals %v", got)
	}
	w.update(t, hc, cluster, func() { hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = nil })
	w.run(t, pass, 1)
	if got := w.principals(t); !slices.Equal(got, []string{"arn:aws:iam::222222222222:role/demo-cpo"}) {
		t.Errorf("principals %v", got)
	}
}

func (w *testEnv) principals(t *testing.T) []string {
	t.Helper()
	name := w.es(t, "private-router").Status.EndpointServiceName
	out, err := awsx.EC2(w.mine.Config(region, "somebody")).DescribeVpcEndpointServicePermissions(t.Context(),
		&ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: aws.String(name[strings.LastIndex(name, ".")+1:])})
	if err != nil {
		t.Fatal(err)
	}
	var arns []string
	for _, p := range out.AllowedPrincipals {
		arns = append(arns, *p.Principal)
	}
	slices.Sort(arns)
	return arns
}

func TestAPauseStopsChangesAndNotTheDeletion(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	hc := &hyperv1.HostedCluster{}
	w.update(t, hc, cluster, func() { hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
	w.Create(t, pool("c", "subnet-c"))
	w.run(t, pass, 2)
	if got := w.es(t, "private-router").Spec.SubnetIDs; len(got) != 2 {
		t.Errorf("subnets %v changed in spite of the pause", got)
	}
	if err := w.Admin().Delete(t.Context(), endpointService("private-router")); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 10)
	if _, err := w.get(t.Context(), "private-router"); err == nil {
		t.Error("still there")
	}
}

// A process that has found and deleted the service does not wait for AWS to list
// another one, although another writer changed the object at that moment.
func TestDeletionOfAFoundServiceDoesNotAwaitConsistency(t *testing.T) {
	w := newTestEnv(t)
	w.AWS.SetDelays(fakeaws.Delays{})
	r := w.reconciler()
	conflicts := 0
	r.Client = interceptor.NewClient(w.Client().(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			if !obj.GetDeletionTimestamp().IsZero() && conflicts == 0 {
				conflicts++
				return apierrors.NewConflict(schema.GroupResource{Resource: "awsendpointservices"}, obj.GetName(), errors.New("somebody else wrote"))
			}
			return c.Patch(ctx, obj, p, opts...)
		},
	})
	r.ledger = r.newLedger()
	pass := w.passOf(r)
	atOnce := func(passes int) { // the clock stands still
		for range passes {
			_ = pass(t.Context())
			if err := w.runControlPlaneOperator(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	atOnce(4)
	if err := w.Admin().Delete(t.Context(), endpointService("private-router")); err != nil {
		t.Fatal(err)
	}
	atOnce(4)
	if conflicts == 0 {
		t.Fatal("nobody wrote")
	}
	if es, err := w.get(t.Context(), "private-router"); err == nil {
		t.Errorf("the object is still there: %+v", es.Status.Conditions)
	}
}

func TestALiveEndpointIsNotCutOff(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.cpoRuns = false
	if err := w.Admin().Delete(t.Context(), endpointService("private-router")); err != nil {
		t.Fatal(err)
	}
	w.AWS.ForgetCalls()
	w.run(t, pass, 5)
	w.want(t, "private-router", metav1.ConditionFalse, hyperv1.DeletingReason, "waiting for the VPC endpoint")
	if calls := fakeaws.By(w.AWS.Calls(), provider, "hypershift-operator"); len(calls) > 0 {
		t.Errorf("calls while the customer's half is at work: %v", fakeaws.Count(calls))
	}

	// The endpoint is never deleted: the finalizer was removed by force.
	es := w.es(t, "private-router")
	es.Finalizers = []string{hyperv1.HypershiftOperatorFinalizer}
	if err := w.Admin().Update(t.Context(), es); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 4)
	if _, err := w.get(t.Context(), "private-router"); err == nil {
		t.Error("still there")
	}
	if n := fakeaws.Count(w.AWS.Calls())["ec2:RejectVpcEndpointConnections"]; n != 1 {
		t.Errorf("connections were rejected %d times, want once", n)
	}
}

func TestThrottlingDoesNotMakeAGoodServiceBad(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.Clock.Step(resync)
	heal := w.AWS.Fault(fakeaws.Fault{Service: fakeaws.EC2, Kind: fakeaws.Throttled, Times: fakeaws.Forever, Account: provider})
	w.run(t, pass, 2)
	w.want(t, "private-router", metav1.ConditionTrue, reconcile.AsExpected, "")
	heal()
	w.Clock.Step(2 * awsx.PrincipalsTTL)
	w.AWS.Fault(fakeaws.Fault{Operation: "DescribeVpcEndpointServicePermissions", Kind: fakeaws.Denied, Times: fakeaws.Forever, Account: provider})
	w.run(t, pass, 2)
	w.want(t, "private-router", metav1.ConditionFalse, "AWSAccessDenied", "DescribeVpcEndpointServicePermissions")
}

func TestAnObjectWithoutACluster(t *testing.T) {
	w := newTestEnv(t)
	if err := w.Admin().Delete(t.Context(), &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}}); err != nil {
		t.Fatal(err)
	}
	pass := w.start()
	w.run(t, pass, 2)
	w.want(t, "private-router", metav1.ConditionFalse, hyperv1.WaitingForHostedClusterReason, "no control plane")
	if err := w.Admin().Delete(t.Context(), endpointService("private-router")); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 2)
	if _, err := w.get(t.Context(), "private-router"); err == nil {
		t.Error("still there")
	}
}
