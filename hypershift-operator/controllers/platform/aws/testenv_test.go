package aws

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	region   = testenv.Region
	provider = testenv.Provider
	customer = testenv.Customer
	cpoRole  = "arn:aws:iam::" + customer + ":role/path/demo-cpo"
	lbName   = "a0123456789abcdef"
	resync   = 30 * time.Minute

	operatorNamespace = "hypershift"
)

// privateLink is a private cluster as far as this controller can see it: the objects of other controllers, a load balancer, and the customer's
// account, in which the control-plane-operator creates an endpoint.
type privateLink struct {
	*testenv.Env
	mine    *fakeaws.Account
	cpo     *ec2.Client // the control-plane-operator in the customer's account
	vpc     string
	cpoRuns bool // the control-plane-operator creates and deletes its endpoint
}

func newPrivateLink(t testing.TB) *privateLink {
	e := &privateLink{cpoRuns: true, Env: testenv.New(t,
		testenv.For(endpointService(), &hyperv1.AWSEndpointServiceList{}),
		testenv.WithSchemas("config/crd"),
		testenv.WithIndex(&hyperv1.NodePool{}, index.NodePoolCluster, index.ByCluster),
		testenv.WithObjects(pool("a", "subnet-a"), pool("b", "subnet-b"), service("clusters-demo", "private-router", lbName)),
		testenv.WithRealTime(),
		testenv.WithDelays(fakeaws.Delays{EndpointDeleting: time.Minute, ServicePending: 10 * time.Second, ServiceDeleting: 10 * time.Second, Listed: 15 * time.Second}),
	)}
	e.Start, e.Others = func() testenv.Pass { return e.passOf(e.reconciler()) }, e.runControlPlaneOperator
	e.mine = e.AWS.Account(provider)
	theirs := e.AWS.Account(customer)
	e.cpo = awsx.EC2(theirs.Config(region, "demo-cpo"))
	e.vpc = theirs.AddVPC(region, fakeaws.VPC{})
	e.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: lbName, Zones: []string{"us-east-1a", "us-east-1b"}})
	e.cluster("demo")
	return e
}

// cluster creates the objects of a private cluster that are not about PrivateLink.
func (e *privateLink) cluster(name string) {
	hc := testenv.PrivateCluster()
	hc.Name, hc.UID, hc.Spec.InfraID = name, types.UID(name+"-hc"), name+"-x"
	hc.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = cpoRole
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        "clusters-" + name,
		Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/" + name},
		Labels:      map[string]string{hyperv1.ControlPlaneNamespaceLabel: "true", hyperv1.HostedClusterUIDLabel: string(hc.UID)},
	}}
	hcp := testenv.HostedControlPlane()
	hcp.Namespace, hcp.Name, hcp.UID, hcp.Spec.InfraID, hcp.Spec.Platform = ns.Name, name, types.UID(name+"-hcp"), hc.Spec.InfraID, hc.Spec.Platform
	e.Create(ns, hc, hcp)
}

// endpointService returns the object under test.
func endpointService() *hyperv1.AWSEndpointService {
	return &hyperv1.AWSEndpointService{
		ObjectMeta: testenv.In(testenv.Namespace, "private-router"),
		Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: lbName, ResourceTags: []hyperv1.AWSResourceTag{{Key: "team", Value: "blue"}}},
	}
}

// service returns the object under test as the API server has it.
func (e *privateLink) service() *hyperv1.AWSEndpointService {
	return testenv.Read(e.Env, endpointService())
}

// service is a Service to which a cloud provider has given a load balancer.
func service(namespace, name, balancer string) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: balancer + "-0123456789abcdef.elb." + region + ".amazonaws.com"}}
	return svc
}

func pool(name, subnet string) *hyperv1.NodePool {
	return &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name},
		Spec: hyperv1.NodePoolSpec{ClusterName: "demo", Platform: hyperv1.NodePoolPlatform{Type: hyperv1.AWSPlatform,
			AWS: &hyperv1.AWSNodePoolPlatform{Subnet: hyperv1.AWSResourceReference{ID: ptr.To(subnet)}}}},
	}
}

func (e *privateLink) passOf(r *Reconciler) testenv.Pass {
	return e.PassOverKeys(&hyperv1.AWSEndpointServiceList{}, r.controller().Reconcile)
}

func (e *privateLink) reconciler() *Reconciler { return e.reconcilerIn(e.mine, region) }

// reconcilerIn is the controller with the credentials of an account, in a region.
func (e *privateLink) reconcilerIn(account *fakeaws.Account, region string) *Reconciler {
	cfg := e.Config(account, region, "hypershift-operator")
	return newReconciler(Options{
		Client:        e.Client(),
		Reader:        e.Client(),
		Recorder:      e.Events,
		Clock:         e.Clock,
		LoadBalancers: loadbalancer.New(loadbalancer.NewClient(cfg), e.Clock, resync/2),
		Services:      endpointservice.New(awsx.EC2(cfg), e.Clock, endpointservice.Options{ListTTL: resync / 2, PrincipalsTTL: awsx.PrincipalsTTL}),
		Caller:        identity.NewCaller(awsx.STS(cfg), region),
		Resync:        resync,
		Namespace:     operatorNamespace,
		SharedRouter:  true,
	})
}

// runControlPlaneOperator does the work of the control-plane-operator: an endpoint to the
// service while the object lives, and none when it dies.
func (e *privateLink) runControlPlaneOperator(ctx context.Context) error {
	if !e.cpoRuns {
		return nil
	}
	c := e.Admin()
	var list hyperv1.AWSEndpointServiceList
	if err := c.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		es := &list.Items[i]
		endpoints, err := e.endpoints(ctx)
		if err != nil {
			return err
		}
		const finalizer = hyperv1.ControlPlaneOperatorFinalizer
		switch name := es.Status.EndpointServiceName; {
		case !es.DeletionTimestamp.IsZero() && len(endpoints) > 0:
			_, err = e.cpo.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: endpoints})
		case !es.DeletionTimestamp.IsZero() && slices.Contains(es.Finalizers, finalizer):
			es.Finalizers = slices.DeleteFunc(es.Finalizers, func(f string) bool { return f == finalizer })
			err = c.Update(ctx, es)
		case es.DeletionTimestamp.IsZero() && name != "" && !slices.Contains(es.Finalizers, finalizer):
			es.Finalizers = append(es.Finalizers, finalizer)
			err = c.Update(ctx, es)
		case es.DeletionTimestamp.IsZero() && name != "" && len(endpoints) == 0 && meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointServiceAvailable):
			_, err = e.cpo.CreateVpcEndpoint(ctx, &ec2.CreateVpcEndpointInput{VpcId: &e.vpc, ServiceName: &name, VpcEndpointType: ec2types.VpcEndpointTypeInterface})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *privateLink) endpoints(ctx context.Context) ([]string, error) {
	out, err := e.cpo.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range out.VpcEndpoints {
		ids = append(ids, *e.VpcEndpointId)
	}
	return ids, nil
}

// ready returns why the service is not offered yet, or no endpoint connects.
func (e *privateLink) ready(ctx context.Context) string {
	if missing := e.Ready(hyperv1.AWSEndpointServiceAvailable)(ctx); missing != "" {
		return missing
	}
	if ids, err := e.endpoints(ctx); err != nil || len(ids) != 1 {
		return fmt.Sprintf("an endpoint: %v %v", ids, err)
	}
	return ""
}

// generated matches values that AWS generates: two runs do not share them.
var generated = regexp.MustCompile(`vpce-svc-0[0-9a-f]{16}|loadbalancer/net/` + lbName + `/[0-9a-f]+`)

func masked(text string) string { return generated.ReplaceAllString(text, "generated") }
