package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go/middleware"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
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
)

var scheme = testenv.Scheme()

// testEnv is a private cluster as far as this controller can see it: the objects
// that others made, a load balancer, and the customer's account.
type testEnv struct {
	*testenv.Env
	mine    *fakeaws.Account
	cpo     *ec2.Client // the control-plane-operator in the customer's account
	vpc     string
	events  *events.FakeRecorder
	cpoRuns bool // the control-plane-operator makes and deletes its endpoint
}

func newTestEnv(t testing.TB) *testEnv {
	w := &testEnv{events: events.NewFakeRecorder(1000), cpoRuns: true, Env: testenv.New(t, crashtest.Options{
		Scheme:     scheme,
		Converters: []managedfields.TypeConverter{crashtest.Converter("../../../../config/crd")},
		Kinds:      []client.ObjectList{&hyperv1.AWSEndpointServiceList{}},
		WithStatus: []client.Object{&hyperv1.AWSEndpointService{}},
		Index: func(b *fake.ClientBuilder) {
			b.WithIndex(&hyperv1.NodePool{}, index.NodePoolCluster, index.ByCluster)
		},
	})}
	w.Clock.SetTime(time.Now()) // the fake API server stamps deletions with the real time
	w.AWS.SetDelays(fakeaws.Delays{EndpointDeleting: time.Minute, ServicePending: 10 * time.Second, ServiceDeleting: 10 * time.Second, Listed: 15 * time.Second})
	w.mine = w.AWS.Account(provider)
	theirs := w.AWS.Account(customer)
	w.cpo = awsx.EC2(theirs.Config(region, "demo-cpo"))
	w.vpc = theirs.AddVPC(region, fakeaws.VPC{})
	w.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: lbName, Zones: []string{"us-east-1a", "us-east-1b"}})
	w.cluster(t, "demo")
	w.Create(t, pool("a", "subnet-a"), pool("b", "subnet-b"), service("clusters-demo", "private-router", lbName), endpointService("private-router"))
	return w
}

// cluster makes the objects of a private cluster that are not about PrivateLink.
func (w *testEnv) cluster(t testing.TB, name string) {
	hc := &hyperv1.HostedCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, UID: types.UID(name + "-hc")},
		Spec: hyperv1.HostedClusterSpec{InfraID: name + "-x", Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
			Region: region, EndpointAccess: hyperv1.Private, RolesRef: hyperv1.AWSRolesRef{ControlPlaneOperatorARN: cpoRole},
		}}},
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        "clusters-" + name,
		Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/" + name},
		Labels:      map[string]string{hyperv1.ControlPlaneNamespaceLabel: "true", hyperv1.HostedClusterUIDLabel: string(hc.UID)},
	}}
	hcp := &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name, UID: types.UID(name + "-hcp")},
		Spec:       hyperv1.HostedControlPlaneSpec{InfraID: hc.Spec.InfraID, Platform: hc.Spec.Platform},
	}
	w.Create(t, ns, hc, hcp)
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

func endpointService(name string) *hyperv1.AWSEndpointService {
	return &hyperv1.AWSEndpointService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: name},
		Spec: hyperv1.AWSEndpointServiceSpec{
			NetworkLoadBalancerName: lbName,
			ResourceTags:            []hyperv1.AWSResourceTag{{Key: "team", Value: "blue"}},
		},
	}
}

// start makes the controller anew and returns one pass of it over all objects.
func (w *testEnv) start() func(context.Context) error { return w.passOf(w.reconciler()) }

func (w *testEnv) passOf(r *Reconciler) func(context.Context) error {
	return func(ctx context.Context) error {
		var list hyperv1.AWSEndpointServiceList
		if err := w.Admin().List(ctx, &list); err != nil {
			return err
		}
		var errs []error
		for i := range list.Items {
			_, err := r.controller().Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}

func (w *testEnv) reconciler() *Reconciler { return w.reconcilerIn(w.mine, region) }

// reconcilerIn is the controller with the credentials of an account, in a region.
func (w *testEnv) reconcilerIn(account *fakeaws.Account, region string) *Reconciler {
	cfg := account.Config(region, "hypershift-operator")
	cfg.APIOptions = append(slices.Clone(cfg.APIOptions), func(s *middleware.Stack) error { return w.Calls.Middleware(s) })
	return newReconciler(Options{
		Client:        w.Client(),
		Reader:        w.Client(),
		Recorder:      w.events,
		Clock:         w.Clock,
		LoadBalancers: loadbalancer.New(loadbalancer.NewClient(cfg), w.Clock, resync/2),
		Services:      endpointservice.New(awsx.EC2(cfg), w.Clock, endpointservice.Options{ListTTL: resync / 2, PrincipalsTTL: awsx.PrincipalsTTL}),
		Caller:        identity.NewCaller(awsx.STS(cfg), region),
		Resync:        resync,
	})
}

// unreadable is a client to which HostedClusters hold a value that their type
// cannot: one written past validation.
func (w *testEnv) unreadable() client.Client {
	return interceptor.NewClient(w.Client().(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			if hc, ok := obj.(*hyperv1.HostedCluster); ok && err == nil {
				return json.Unmarshal([]byte(`{"spec":{"pausedUntil":["never"]}}`), hc)
			}
			return err
		},
	})
}

// runControlPlaneOperator does the work of the control-plane-operator: an endpoint to the
// service while the object lives, and none when it dies.
func (w *testEnv) runControlPlaneOperator(ctx context.Context) error {
	if !w.cpoRuns {
		return nil
	}
	c := w.Admin()
	var list hyperv1.AWSEndpointServiceList
	if err := c.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		es := &list.Items[i]
		endpoints, err := w.endpoints(ctx)
		if err != nil {
			return err
		}
		const finalizer = hyperv1.ControlPlaneOperatorFinalizer
		switch name := es.Status.EndpointServiceName; {
		case !es.DeletionTimestamp.IsZero() && len(endpoints) > 0:
			_, err = w.cpo.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: endpoints})
		case !es.DeletionTimestamp.IsZero() && slices.Contains(es.Finalizers, finalizer):
			es.Finalizers = slices.DeleteFunc(es.Finalizers, func(f string) bool { return f == finalizer })
			err = c.Update(ctx, es)
		case es.DeletionTimestamp.IsZero() && name != "" && !slices.Contains(es.Finalizers, finalizer):
			es.Finalizers = append(es.Finalizers, finalizer)
			err = c.Update(ctx, es)
		case es.DeletionTimestamp.IsZero() && name != "" && len(endpoints) == 0 && meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointServiceAvailable):
			_, err = w.cpo.CreateVpcEndpoint(ctx, &ec2.CreateVpcEndpointInput{VpcId: &w.vpc, ServiceName: &name, VpcEndpointType: ec2types.VpcEndpointTypeInterface})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *testEnv) endpoints(ctx context.Context) ([]string, error) {
	out, err := w.cpo.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range out.VpcEndpoints {
		ids = append(ids, *e.VpcEndpointId)
	}
	return ids, nil
}

func (w *testEnv) get(ctx context.Context, name string) (*hyperv1.AWSEndpointService, error) {
	es := &hyperv1.AWSEndpointService{}
	err := w.Admin().Get(ctx, client.ObjectKey{Namespace: "clusters-demo", Name: name}, es)
	return es, err
}

// ready returns why the service is not offered yet, or no endpoint connects.
func (w *testEnv) ready(ctx context.Context) string {
	es, err := w.get(ctx, "private-router")
	if err != nil {
		return err.Error()
	}
	if c := meta.FindStatusCondition(es.Status.Conditions, hyperv1.AWSEndpointServiceAvailable); c == nil || c.Status != metav1.ConditionTrue {
		return fmt.Sprintf("the service: %+v", c)
	}
	if ids, err := w.endpoints(ctx); err != nil || len(ids) != 1 {
		return fmt.Sprintf("an endpoint: %v %v", ids, err)
	}
	return ""
}

// generated matches values that AWS generates: two runs do not share them.
var generated = regexp.MustCompile(`vpce-svc-0[0-9a-f]{16}|loadbalancer/net/` + lbName + `/[0-9a-f]+`)

func masked(text string) string { return generated.ReplaceAllString(text, "generated") }
