package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const sharedName = "shared"

// newSharedRouter has two clusters of two customers, demo and other, with the shared router. The object under test is that of demo.
func newSharedRouter(t testing.TB) *privateLink {
	e := newPrivateLink(t)
	e.Must(e.Admin().Delete(t.Context(), endpointService()))
	e.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: sharedName, Zones: []string{"us-east-1a", "us-east-1b"}, State: "active"})
	e.Create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace, UID: "installation"}},
		service(operatorNamespace, sharedrouter.Private, sharedName),
	)
	e.cluster("other")
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "other"}}
	e.Change(hc, func() {
		hc.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = "arn:aws:iam::333333333333:role/other-cpo"
	})
	e.cpoRuns = false
	return e
}

// connect creates the AWSEndpointService of a cluster, as its control-plane-operator does.
func (e *privateLink) connect(cluster string) *hyperv1.AWSEndpointService {
	es := &hyperv1.AWSEndpointService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-" + cluster, Name: sharedrouter.EndpointService},
		Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: sharedName},
	}
	e.Create(es)
	return es
}

// offers returns the principals of each endpoint service in AWS.
func (e *privateLink) offers() (all []string) {
	for _, svc := range e.inAWS() {
		out, err := awsx.EC2(e.mine.Config(region, "somebody")).DescribeVpcEndpointServicePermissions(e.T.Context(), &ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: svc.ServiceId})
		e.Must(err)
		var principals []string
		for _, p := range out.AllowedPrincipals {
			principals = append(principals, *p.Principal)
		}
		slices.Sort(principals)
		all = append(all, strings.Join(principals, " "))
	}
	return all
}

func (e *privateLink) available(es *hyperv1.AWSEndpointService) bool {
	now := testenv.Read(e.Env, es)
	return meta.IsStatusConditionTrue(now.Status.Conditions, hyperv1.AWSEndpointServiceAvailable) && now.Status.EndpointServiceName != ""
}

// Clusters with the shared router have one endpoint service, to which each of their customers may connect. It exists as long as one of them.
func TestClustersShareAnEndpointService(t *testing.T) {
	const demo, other = "arn:aws:iam::" + customer + ":role/demo-cpo", "arn:aws:iam::333333333333:role/other-cpo"
	e := newSharedRouter(t)
	e.Restart()
	first := e.connect("demo")
	e.Settle()
	if got := e.offers(); !e.available(first) || !slices.Equal(got, []string{demo}) {
		t.Fatalf("one cluster: available %v, services for %v", e.available(first), got)
	}
	second := e.connect("other")
	e.Settle()
	if got := e.offers(); !e.available(second) || !slices.Equal(got, []string{demo + " " + other}) {
		t.Fatalf("two clusters: available %v, services for %v", e.available(second), got)
	}
	if a, b := testenv.Read(e.Env, first).Status.EndpointServiceName, testenv.Read(e.Env, second).Status.EndpointServiceName; a != b {
		t.Errorf("one cluster has service %s, the other one %s", a, b)
	}
	// A bad object of one tenant takes nothing from the others.
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "other"}}
	e.Change(hc, func() { hc.Spec.Platform.AWS = nil })
	e.Delete(first)
	e.Settle()
	if got := len(e.offers()); got != 1 {
		t.Fatalf("%d services, although a cluster is connected", got)
	}
	e.Delete(second)
	e.During(5 * time.Minute)
	e.Settle()
	if got := e.offers(); len(got) != 0 {
		t.Errorf("services are left for %v", got)
	}
}

// An endpoint of a cluster that leaves is rejected, and those of other clusters stay connected.
func TestALeavingClusterLosesItsEndpointOnly(t *testing.T) {
	e := newSharedRouter(t)
	e.Restart()
	first, second := e.connect("demo"), e.connect("other")
	e.Settle()
	name := testenv.Read(e.Env, first).Status.EndpointServiceName
	var endpoints []string
	for range 2 {
		out, err := e.cpo.CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{VpcId: &e.vpc, ServiceName: &name, VpcEndpointType: ec2types.VpcEndpointTypeInterface})
		e.Must(err)
		endpoints = append(endpoints, *out.VpcEndpoint.VpcEndpointId)
	}
	table := sharedrouter.Table{Clusters: []sharedrouter.Cluster{
		{Namespace: "clusters-demo", Endpoints: endpoints[:1]}, {Namespace: "clusters-other", Endpoints: endpoints[1:]},
	}}
	data, _ := table.Data()
	e.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: sharedrouter.Public}, Data: data})
	// What the tenant's operator writes decides nothing.
	e.Change(first, func() { first.Status.EndpointID, first.Spec.NetworkLoadBalancerName = endpoints[1], lbName })
	e.Delete(first)
	e.Settle()
	out, err := e.cpo.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: endpoints})
	e.Must(err)
	for _, v := range out.VpcEndpoints {
		want := map[string]string{endpoints[0]: "rejected", endpoints[1]: "available"}[*v.VpcEndpointId]
		if got := strings.ToLower(string(v.State)); got != want {
			t.Errorf("endpoint %s is %s, want %s", *v.VpcEndpointId, got, want)
		}
	}
	if !e.available(second) {
		t.Error("the other cluster is not available")
	}
}

// A principal that AWS refuses is the fault of the cluster that names it, and of no other.
func TestARefusedPrincipalIsTheFaultOfOneCluster(t *testing.T) {
	e := newSharedRouter(t)
	bad := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "other"}}
	e.Change(bad, func() {
		bad.Spec.Platform.AWS.AdditionalAllowedPrincipals = []string{"arn:aws:iam::333333333333:role/no role"}
	})
	e.Restart()
	second := e.connect("other")
	e.RunFailing(10) // its own object tries again and again
	e.ExpectConditionOf(second, hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, string(awsx.Invalid), "no role")
	first := e.connect("demo")
	e.RunFailing(20)
	if !e.available(first) {
		t.Errorf("the other cluster: %+v", testenv.Read(e.Env, first).Status)
	}
	if got := e.offers(); len(got) != 1 || !strings.Contains(got[0], "role/demo-cpo") || !strings.Contains(got[0], "role/other-cpo") {
		t.Errorf("services for %v", got)
	}
	e.Delete(first)
	e.RunFailing(20)
	if e.Exists(first) {
		t.Errorf("the deleted cluster stays: %+v", testenv.Read(e.Env, first))
	}
}

// A tenant cannot offer the load balancer of the shared router by another name, or another load balancer by its name.
func TestOnlyTheSharedLoadBalancerIsShared(t *testing.T) {
	for name, es := range map[string]*hyperv1.AWSEndpointService{
		"another load balancer": {
			ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: sharedrouter.EndpointService},
			Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: lbName},
		},
		"another name": {
			ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "private-router"},
			Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: sharedName},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newSharedRouter(t)
			e.Create(es)
			e.Restart()
			e.Run(3)
			e.ExpectConditionOf(es, hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, hyperv1.LoadBalancerForeignReason, "no other may be offered")
			if got := e.offers(); len(got) != 0 {
				t.Errorf("services for %v", got)
			}
		})
	}
}

func TestAnInstallationWithoutSharedRouterSaysSo(t *testing.T) {
	e := newSharedRouter(t)
	es := e.connect("demo")
	r := e.reconciler()
	r.SharedRouter = false
	e.Use(e.passOf(r))
	e.Run(1)
	e.ExpectConditionOf(es, hyperv1.AWSEndpointServiceAvailable, metav1.ConditionFalse, hyperv1.LoadBalancerForeignReason, "sharedRouter.enabled")
}

// sharedScenario is the life of two AWSEndpointServices with one endpoint service. Both are deleted at once.
func sharedScenario(t testing.TB) *crashtest.Scenario {
	e := newSharedRouter(t)
	all := []*hyperv1.AWSEndpointService{e.connect("demo"), e.connect("other")}
	s := e.scenario()
	s.Ready = func(context.Context) string {
		for _, es := range all {
			if !e.available(es) {
				return fmt.Sprintf("%s: %+v", es.Namespace, testenv.Read(e.Env, es).Status)
			}
		}
		return ""
	}
	s.Delete = func(ctx context.Context) error {
		for _, es := range all {
			if err := e.Admin().Delete(ctx, es.DeepCopy()); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		return nil
	}
	s.Mask = func(text string) string {
		return strings.ReplaceAll(masked(text), "loadbalancer/net/"+sharedName, "generated")
	}
	return s
}

func TestCrashConsistencyOfTheSharedService(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, sharedScenario) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, sharedScenario) })
}
