package aws

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// A tenant chooses the image of the control-plane-operator, which may write
// AWSEndpointServices, and patch the HostedControlPlane, in its own namespace.

// inAWS are the endpoint services of the management account.
func (w *testEnv) inAWS(t *testing.T) []ec2types.ServiceConfiguration {
	t.Helper()
	out, err := awsx.EC2(w.mine.Config(region, "other")).DescribeVpcEndpointServiceConfigurations(t.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	if err != nil {
		t.Fatal(err)
	}
	return out.ServiceConfigurations
}

// attacker adds a second cluster, with an object that carries its tenant's claim. The endpoints in this test environment are the first
// cluster's only.
func (w *testEnv) attacker(t *testing.T, claim func(*hyperv1.AWSEndpointService)) client.ObjectKey {
	t.Helper()
	w.cpoRuns = false
	w.cluster(t, "mallory")
	es := endpointService("private-router")
	es.Namespace = "clusters-mallory"
	es.CreationTimestamp = metav1.NewTime(w.Clock.Now().Add(-1000 * resync))
	claim(es)
	w.Create(t, es)
	return client.ObjectKeyFromObject(es)
}

func (w *testEnv) condition(t *testing.T, key client.ObjectKey) metav1.Condition {
	t.Helper()
	es := &hyperv1.AWSEndpointService{}
	if err := w.Admin().Get(t.Context(), key, es); err != nil {
		t.Fatal(err)
	}
	c := meta.FindStatusCondition(es.Status.Conditions, hyperv1.AWSEndpointServiceAvailable)
	if c == nil {
		return metav1.Condition{}
	}
	return *c
}

func TestTheLoadBalancerOfAnotherClusterIsNotOffered(t *testing.T) {
	for name, prepare := range map[string]func(*testEnv){
		"there is no Service of that name": func(*testEnv) {},
		"its Service has another load balancer": func(w *testEnv) {
			w.Create(t, service("clusters-mallory", "private-router", "b0123456789abcdef"))
		},
		"its Service is of another type": func(w *testEnv) {
			svc := service("clusters-mallory", "private-router", lbName)
			svc.Spec.Type = corev1.ServiceTypeClusterIP
			w.Create(t, svc)
		},
		"the load balancer is that of another Service": func(w *testEnv) { w.Create(t, service("clusters-mallory", "router", lbName)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			theirs := w.attacker(t, func(*hyperv1.AWSEndpointService) {})
			prepare(w)
			w.run(t, w.start(), 4)
			if c := w.condition(t, theirs); c.Status != metav1.ConditionFalse || c.Reason != hyperv1.LoadBalancerForeignReason {
				t.Errorf("the condition is %+v, want False/%s", c, hyperv1.LoadBalancerForeignReason)
			}
			w.want(t, "private-router", metav1.ConditionTrue, reconcile.AsExpected, "")
			if got := w.inAWS(t); len(got) != 1 {
				t.Errorf("%d endpoint services, want 1", len(got))
			}
		})
	}
}

func TestTheOwnerInAnObjectIsNotTrusted(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	victim := w.es(t, "private-router")
	theirs := w.attacker(t, func(es *hyperv1.AWSEndpointService) {
		es.Annotations = map[string]string{"hypershift.openshift.io/owner-uid": "demo-hcp", hyperv1.HostedClusterAnnotation: "clusters/demo"}
		es.Spec.NetworkLoadBalancerName = "b0123456789abcdef"
		es.Status = victim.Status
	})
	w.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: "b0123456789abcdef", Zones: []string{"us-east-1a"}})
	w.Create(t, service("clusters-mallory", "private-router", "b0123456789abcdef"))
	hcp := &hyperv1.HostedControlPlane{}
	w.update(t, hcp, client.ObjectKey{Namespace: "clusters-mallory", Name: "mallory"}, func() {
		hcp.Annotations = map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}
		hcp.Spec.InfraID = "demo-x"
	})
	w.run(t, pass, 4)
	for _, svc := range w.inAWS(t) {
		tags := map[string]string{}
		for _, tag := range svc.Tags {
			tags[*tag.Key] = *tag.Value
		}
		first := *svc.ServiceName == victim.Status.EndpointServiceName
		if want := map[bool]string{true: "demo", false: "mallory"}[first]; tags[awsx.OwnerTag] != want+"-hcp" || tags["kubernetes.io/cluster/"+want+"-x"] != "owned" {
			t.Errorf("tags of %s: %v, want those of %s", *svc.ServiceName, tags, want)
		}
	}
	es := &hyperv1.AWSEndpointService{}
	if err := w.Admin().Get(t.Context(), theirs, es); err != nil {
		t.Fatal(err)
	}
	if len(es.Spec.SubnetIDs) > 0 {
		t.Errorf("subnets %v of another cluster", es.Spec.SubnetIDs)
	}

	if err := w.Admin().Delete(t.Context(), es); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 6)
	if got := w.inAWS(t); len(got) != 1 || *got[0].ServiceName != victim.Status.EndpointServiceName {
		t.Errorf("in AWS %v, want the service of the first cluster and no other", got)
	}
}

func TestMetadataRemovedDuringDeletionDoesNotHideTheService(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.cpoRuns = false
	for _, obj := range []client.Object{
		endpointService("private-router"),
		&hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}},
		&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}},
	} {
		if err := w.Admin().Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	es := w.es(t, "private-router")
	es.Annotations, es.Finalizers = nil, []string{hyperv1.HypershiftOperatorFinalizer}
	if err := w.Admin().Update(t.Context(), es); err != nil {
		t.Fatal(err)
	}
	es.Status = hyperv1.AWSEndpointServiceStatus{}
	if err := w.Admin().Status().Update(t.Context(), es); err != nil {
		t.Fatal(err)
	}
	w.run(t, w.start(), 6)
	if _, err := w.get(t.Context(), "private-router"); err == nil {
		t.Error("still there")
	}
	if got := w.inAWS(t); len(got) > 0 {
		t.Errorf("left in AWS: %v", *got[0].ServiceName)
	}
}

func TestTheNamespaceOfAnEarlierClusterOfTheSameName(t *testing.T) {
	w := newTestEnv(t)
	ns := &corev1.Namespace{}
	w.update(t, ns, client.ObjectKey{Name: "clusters-demo"}, func() { ns.Labels[hyperv1.HostedClusterUIDLabel] = "earlier" })
	w.run(t, w.start(), 2)
	w.want(t, "private-router", metav1.ConditionFalse, hyperv1.WaitingForHostedClusterReason, "no control plane")
}

func TestNotFoundInAnotherLocationIsNotDeleted(t *testing.T) {
	for name, other := range map[string]struct{ account, region string }{
		"another region":  {provider, "eu-west-1"},
		"another account": {customer, region},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.run(t, w.start(), 4)
			w.cpoRuns = false
			es := w.es(t, "private-router")
			es.Finalizers = []string{hyperv1.HypershiftOperatorFinalizer}
			if err := w.Admin().Update(t.Context(), es); err != nil {
				t.Fatal(err)
			}
			if err := w.Admin().Delete(t.Context(), es); err != nil {
				t.Fatal(err)
			}
			w.run(t, w.passOf(w.reconcilerIn(w.AWS.Account(other.account), other.region)), 6)
			w.want(t, "private-router", metav1.ConditionFalse, hyperv1.EndpointServicesElsewhereReason,
				"are in account 111111111111, region us-east-1, and the hypershift-operator works in account "+other.account+", region "+other.region)
			w.run(t, w.start(), 6)
			if got := w.inAWS(t); len(got) > 0 {
				t.Errorf("left in AWS: %v", *got[0].ServiceName)
			}
		})
	}
}

// Each retry of one cluster used to make the operator list everything anew.
func TestAPrincipalThatAWSRefusesCostsTheOthersNothing(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.attacker(t, func(es *hyperv1.AWSEndpointService) { es.Spec.NetworkLoadBalancerName = "b0123456789abcdef" })
	w.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: "b0123456789abcdef", Zones: []string{"us-east-1a"}})
	w.Create(t, service("clusters-mallory", "private-router", "b0123456789abcdef"))
	hc := &hyperv1.HostedCluster{}
	const bad = "arn:aws:iam::333333333333:role/no role"
	w.update(t, hc, client.ObjectKey{Namespace: "clusters", Name: "mallory"}, func() { hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = []string{bad} })
	w.run(t, pass, 3)
	theirs := client.ObjectKey{Namespace: "clusters-mallory", Name: "private-router"}
	if c := w.condition(t, theirs); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "principal "+bad) || strings.Contains(c.Message, "demo-cpo") {
		t.Errorf("the condition is %+v, want it to name %s and no other", c, bad)
	}
	w.AWS.ForgetCalls()
	if err := pass(t.Context()); err == nil {
		t.Error("no error")
	}
	if listings := slices.DeleteFunc(w.AWS.Calls(), func(c fakeaws.Call) bool { return c.Operation != "DescribeVpcEndpointServicePermissions" }); len(listings) > 1 {
		t.Errorf("principals of %d services read, want those of one", len(listings))
	}
}

func TestAHostedClusterThatCannotBeRead(t *testing.T) {
	w := newTestEnv(t)
	r := w.reconciler()
	w.run(t, w.passOf(r), 4)
	hc := &hyperv1.HostedCluster{}
	before := w.principals(t)
	w.update(t, hc, cluster, func() { hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = []string{"arn:aws:iam::333333333333:root"} })
	w.Create(t, pool("c", "subnet-c"))
	r.Client = w.unreadable()
	w.run(t, w.passOf(r), 2)
	w.want(t, "private-router", metav1.ConditionFalse, hyperv1.UnreadableReason, "HostedCluster clusters/demo cannot be read")
	if after := w.principals(t); !slices.Equal(before, after) {
		t.Errorf("principals %v, want %v as before", after, before)
	}
	if got := w.es(t, "private-router").Spec.SubnetIDs; len(got) != 2 {
		t.Errorf("subnets %v changed", got)
	}
}
