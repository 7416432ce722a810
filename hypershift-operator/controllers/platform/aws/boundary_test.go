package aws

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// A tenant chooses the image of the control-plane-operator, which may write
// AWSEndpointServices, and patch the HostedControlPlane, in its own namespace.

// inAWS are the endpoint services of the management account.
func (e *privateLink) inAWS() []ec2types.ServiceConfiguration {
	e.T.Helper()
	out, err := awsx.EC2(e.mine.Config(region, "other")).DescribeVpcEndpointServiceConfigurations(e.T.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	e.Must(err)
	return out.ServiceConfigurations
}

// attacker adds a second cluster, with an object that carries its tenant's claim. The endpoints in this test environment are the first
// cluster's only.
func (e *privateLink) attacker(claim func(*hyperv1.AWSEndpointService)) *hyperv1.AWSEndpointService {
	e.T.Helper()
	e.cpoRuns = false
	e.cluster("mallory")
	es := endpointService()
	es.Namespace = "clusters-mallory"
	es.CreationTimestamp = metav1.NewTime(e.Clock.Now().Add(-1000 * resync))
	claim(es)
	e.Create(es)
	return es
}

func TestTheLoadBalancerOfAnotherClusterIsNotOffered(t *testing.T) {
	for name, prepare := range map[string]func(*privateLink){
		"there is no Service of that name": func(*privateLink) {},
		"its Service has another load balancer": func(e *privateLink) {
			e.Create(service("clusters-mallory", "private-router", "b0123456789abcdef"))
		},
		"its Service is of another type": func(e *privateLink) {
			svc := service("clusters-mallory", "private-router", lbName)
			svc.Spec.Type = corev1.ServiceTypeClusterIP
			e.Create(svc)
		},
		"the load balancer is that of another Service": func(e *privateLink) { e.Create(service("clusters-mallory", "router", lbName)) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newPrivateLink(t)
			theirs := e.attacker(func(*hyperv1.AWSEndpointService) {})
			prepare(e)
			e.Restart()
			e.Run(4)
			if c := e.ConditionOf(theirs, hyperv1.AWSEndpointServiceAvailable); c.Status != metav1.ConditionFalse || c.Reason != hyperv1.LoadBalancerForeignReason {
				t.Errorf("the condition is %+v, want False/%s", c, hyperv1.LoadBalancerForeignReason)
			}
			e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue, reconcile.AsExpected, "")
			if got := e.inAWS(); len(got) != 1 {
				t.Errorf("%d endpoint services, want 1", len(got))
			}
		})
	}
}

func TestTheOwnerInAnObjectIsNotTrusted(t *testing.T) {
	e := newPrivateLink(t)
	e.Run(4)
	victim := e.service()
	theirs := e.attacker(func(es *hyperv1.AWSEndpointService) {
		es.Annotations = map[string]string{"hypershift.openshift.io/owner-uid": "demo-hcp", hyperv1.HostedClusterAnnotation: "clusters/demo"}
		es.Spec.NetworkLoadBalancerName = "b0123456789abcdef"
		es.Status = victim.Status
	})
	e.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: "b0123456789abcdef", Zones: []string{"us-east-1a"}})
	e.Create(service("clusters-mallory", "private-router", "b0123456789abcdef"))
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: testenv.In("clusters-mallory", "mallory")}
	e.Change(hcp, func() {
		hcp.Annotations = map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}
		hcp.Spec.InfraID = "demo-x"
	})
	e.Run(4)
	for _, svc := range e.inAWS() {
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
	e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(theirs), es))
	if len(es.Spec.SubnetIDs) > 0 {
		t.Errorf("subnets %v of another cluster", es.Spec.SubnetIDs)
	}

	e.Delete(es)
	e.Run(6)
	if got := e.inAWS(); len(got) != 1 || *got[0].ServiceName != victim.Status.EndpointServiceName {
		t.Errorf("in AWS %v, want the service of the first cluster and no other", got)
	}
}

func TestMetadataRemovedDuringDeletionDoesNotHideTheService(t *testing.T) {
	e := newPrivateLink(t)
	e.Run(4)
	e.cpoRuns = false
	for _, obj := range []client.Object{
		endpointService(),
		&hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}},
		&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}},
	} {
		e.Delete(obj)
	}
	es := e.service()
	es.Annotations, es.Finalizers = nil, []string{hyperv1.HypershiftOperatorFinalizer}
	e.Update(es)
	es.Status = hyperv1.AWSEndpointServiceStatus{}
	e.UpdateStatus(es)
	e.Restart()
	e.Run(6)
	if e.Exists(endpointService()) {
		t.Error("still there")
	}
	if got := e.inAWS(); len(got) > 0 {
		t.Errorf("left in AWS: %v", *got[0].ServiceName)
	}
}

func TestTheNamespaceOfAnEarlierClusterOfTheSameName(t *testing.T) {
	e := newPrivateLink(t)
	ns := &corev1.Namespace{ObjectMeta: testenv.In("", testenv.Namespace)}
	e.Change(ns, func() { ns.Labels[hyperv1.HostedClusterUIDLabel] = "earlier" })
	e.Restart()
	e.Run(2)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, hyperv1.WaitingForHostedClusterReason, "no control plane")
}

func TestNotFoundInAnotherLocationIsNotDeleted(t *testing.T) {
	for name, other := range map[string]struct{ account, region string }{
		"another region":  {provider, "eu-west-1"},
		"another account": {customer, region},
	} {
		t.Run(name, func(t *testing.T) {
			e := newPrivateLink(t)
			e.Run(4)
			e.cpoRuns = false
			es := e.service()
			es.Finalizers = []string{hyperv1.HypershiftOperatorFinalizer}
			e.Update(es)
			e.Delete(es)
			e.Use(e.passOf(e.reconcilerIn(e.AWS.Account(other.account), other.region)))
			e.Run(6)
			e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, hyperv1.EndpointServicesElsewhereReason,
				"are in account 111111111111, region us-east-1, and the hypershift-operator works in account "+other.account+", region "+other.region)
			e.Restart()
			e.Run(6)
			if got := e.inAWS(); len(got) > 0 {
				t.Errorf("left in AWS: %v", *got[0].ServiceName)
			}
		})
	}
}

// Each retry of one cluster used to make the operator list everything anew.
func TestAPrincipalThatAWSRefusesCostsTheOthersNothing(t *testing.T) {
	e := newPrivateLink(t)
	e.Run(4)
	theirs := e.attacker(func(es *hyperv1.AWSEndpointService) { es.Spec.NetworkLoadBalancerName = "b0123456789abcdef" })
	e.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: "b0123456789abcdef", Zones: []string{"us-east-1a"}})
	e.Create(service("clusters-mallory", "private-router", "b0123456789abcdef"))
	hc := &hyperv1.HostedCluster{ObjectMeta: testenv.In("clusters", "mallory")}
	const bad = "arn:aws:iam::333333333333:role/no role"
	e.Change(hc, func() { hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = []string{bad} })
	e.RunFailing(3)
	if c := e.ConditionOf(theirs, hyperv1.AWSEndpointServiceAvailable); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "principal "+bad) || strings.Contains(c.Message, "demo-cpo") {
		t.Errorf("the condition is %+v, want it to name %s and no other", c, bad)
	}
	e.AWS.ForgetCalls()
	if err := e.Try(); err == nil {
		t.Error("no error")
	}
	if listings := slices.DeleteFunc(e.AWS.Calls(), func(c fakeaws.Call) bool { return c.Operation != "DescribeVpcEndpointServicePermissions" }); len(listings) > 1 {
		t.Errorf("principals of %d services read, want those of one", len(listings))
	}
}

func TestAHostedClusterThatCannotBeRead(t *testing.T) {
	e := newPrivateLink(t)
	r := e.reconciler()
	e.Use(e.passOf(r))
	e.Run(4)
	hc := testenv.PrivateCluster()
	before := e.principals()
	e.Change(hc, func() { hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = []string{"arn:aws:iam::333333333333:root"} })
	e.Create(pool("c", "subnet-c"))
	r.Client = e.ClientWith(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			if hc, ok := obj.(*hyperv1.HostedCluster); ok && err == nil { // written past validation
				return json.Unmarshal([]byte(`{"spec":{"pausedUntil":["never"]}}`), hc)
			}
			return err
		},
	})
	e.Use(e.passOf(r))
	e.Run(2)
	e.ExpectCondition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, hyperv1.UnreadableReason, "HostedCluster clusters/demo cannot be read")
	if after := e.principals(); !slices.Equal(before, after) {
		t.Errorf("principals %v, want %v as before", after, before)
	}
	if got := e.service().Spec.SubnetIDs; len(got) != 2 {
		t.Errorf("subnets %v changed", got)
	}
}
