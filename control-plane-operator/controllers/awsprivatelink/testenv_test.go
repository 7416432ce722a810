package awsprivatelink

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	region    = testenv.Region
	provider  = testenv.Provider
	customer  = testenv.Customer
	namespace = testenv.Namespace
	issuer    = testenv.Issuer
	resync    = 30 * time.Minute
)

var scheme = testenv.Scheme()

// testEnv is a private cluster as far as these controllers can see it: the
// control plane, its private Service with a load balancer, the endpoint
// service on that, and the customer's account.
type testEnv struct {
	*testenv.Env
	mine     *fakeaws.Account // the management account
	theirs   *fakeaws.Account // the customer's
	vpc      string
	subnets  []string // in three zones, of which the service serves the first two
	zone     string
	role     string
	services map[string]string // endpoint service by name of the Service
	balancer string            // prefix of the load balancers' names
	zones    []string          // ids of the zones that they serve

	eventLog   *eventLog
	sessions   *identity.Sessions
	reconciler *Controller
	observer   *ObserverController
}

func newTestEnv(t testing.TB) *testEnv {
	w := &testEnv{
		Env:      testenv.New(t, clusterOptions...),
		services: map[string]string{},
		balancer: "a-",
		eventLog: &eventLog{},
	}
	w.AWS.SetDelays(fakeaws.Delays{EndpointPending: time.Minute, EndpointDeleting: time.Minute})
	w.mine, w.theirs = w.AWS.Account(provider), w.AWS.Account(customer)
	w.TrustIssuer(w.theirs)
	w.addRole()
	w.vpc = w.theirs.AddVPC(region, fakeaws.VPC{})
	for _, name := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
		// The same place has another name in the customer's account.
		w.subnets = append(w.subnets, w.addSubnet(w.vpc, w.mine.ZoneID(name)))
	}
	w.zone = w.addZone(w.vpc)
	w.create(testenv.SigningKeySecret(), controlPlaneOf(w))
	w.addService(names.PrivateRouter)
	return w
}

var clusterOptions = []testenv.Option{
	testenv.WithScheme(scheme),
	testenv.WithKinds(&hyperv1.AWSEndpointServiceList{}, &corev1.ServiceList{}, &hyperv1.HostedControlPlaneList{}),
	testenv.WithStatus(&hyperv1.AWSEndpointService{}, &hyperv1.HostedControlPlane{}, &corev1.Service{}),
}

// newControlPlane is another cluster of the same name in the same VPC, on a
// management cluster of its own.
func newControlPlane(first *testEnv, uid types.UID) *testEnv {
	w := *first
	w.eventLog = &eventLog{}
	w.Env = testenv.New(first.T, append(slices.Clone(clusterOptions), testenv.WithAWSOf(first.Env, 0))...)
	w.services = map[string]string{}
	hcp := controlPlaneOf(&w)
	hcp.UID, hcp.Spec.InfraID = uid, "demo-y"
	w.create(testenv.SigningKeySecret(), hcp)
	w.balancer = "b-"
	w.addService(names.PrivateRouter)
	w.start()
	return &w
}

func (w *testEnv) addRole() {
	w.role = w.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Path: "demo", Trusts: []fakeaws.Trust{{
		Issuer: issuer, Subjects: []string{names.ControlPlaneOperatorSubject}, Audiences: []string{names.WebIdentityAudience},
	}}})
}

func (w *testEnv) addZone(vpc string) string {
	return w.theirs.AddHostedZone(fakeaws.HostedZone{Name: names.LocalZone("demo"), VPCs: []fakeaws.ZoneVPC{{Region: region, ID: vpc}}})
}

// wantSubnets sets the subnets, as the hypershift-operator does for the NodePools.
func (w *testEnv) wantSubnets(ids ...string) {
	w.T.Helper()
	for _, es := range w.list(w.T.Context()) {
		w.change(es, func() { es.Spec.SubnetIDs = append([]string{}, ids...) })
	}
	w.subnets = append([]string{}, ids...)
}

func (w *testEnv) changeControlPlane(how func(*hyperv1.HostedControlPlane)) {
	w.T.Helper()
	hcp := w.hcp()
	w.change(hcp, func() { how(hcp) })
}

func (w *testEnv) addSubnet(vpc, zoneID string) string {
	return w.theirs.AddSubnet(region, fakeaws.Subnet{VPC: vpc, Zone: w.theirs.ZoneName(region, zoneID)})
}

func controlPlaneOf(w *testEnv) *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}},
		Spec: hyperv1.HostedControlPlaneSpec{
			InfraID: "demo-x", IssuerURL: issuer,
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
				Region: region, EndpointAccess: hyperv1.Private,
				CloudProviderConfig: &hyperv1.AWSCloudProviderConfig{VPC: w.vpc},
				RolesRef:            hyperv1.AWSRolesRef{ControlPlaneOperatorARN: hyperv1.RoleARN(w.role)},
				ResourceTags:        []hyperv1.AWSResourceTag{{Key: "team", Value: "blue"}},
			}},
			Networking: hyperv1.ClusterNetworking{MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/16"}}},
			Services: []hyperv1.ServicePublishingStrategyMapping{{
				Service: hyperv1.APIServer,
				ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
					Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "api.demo.example.com"},
				},
			}},
		},
	}
}

// addService makes a Service as the cloud controller leaves it, and the endpoint
// service of the management account on its load balancer.
func (w *testEnv) addService(name string) {
	arn, host := w.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: w.balancer + name, Zones: []string{"us-east-1a", "us-east-1b"}, State: "active"})
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	w.create(svc)
	w.change(svc, func() { svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}} })
	w.services[name] = w.offer(arn)
	w.zones = []string{w.mine.ZoneID("us-east-1a"), w.mine.ZoneID("us-east-1b")}
}

// offer makes an endpoint service that the customer's role may use.
func (w *testEnv) offer(arn string) string {
	made, err := w.ho().CreateVpcEndpointServiceConfiguration(w.T.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		NetworkLoadBalancerArns: []string{arn}, AcceptanceRequired: aws.Bool(false)})
	w.Must(err)
	w.allow("arn:aws:iam::" + customer + ":role/demo-cpo")
	return *made.ServiceConfiguration.ServiceName
}

// allow lets a role use all endpoint services.
func (w *testEnv) allow(principal string) {
	services, err := w.ho().DescribeVpcEndpointServiceConfigurations(w.T.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	w.Must(err)
	for _, s := range services.ServiceConfigurations {
		_, err := w.ho().ModifyVpcEndpointServicePermissions(w.T.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{
			ServiceId: s.ServiceId, AddAllowedPrincipals: []string{principal}})
		w.Must(err)
	}
}

// ho and customerEC2 are clients of others: their calls are not the controller's.
func (w *testEnv) ho() *ec2.Client          { return awsx.EC2(w.mine.Config(region, "hypershift-operator")) }
func (w *testEnv) customerEC2() *ec2.Client { return awsx.EC2(w.theirs.Config(region, "admin")) }

func (w *testEnv) create(objs ...client.Object) {
	w.T.Helper()
	w.Create(objs...)
}

// change reads obj, changes it as the user or another controller would, and writes it.
func (w *testEnv) change(obj client.Object, how func()) {
	w.T.Helper()
	c := w.Admin()
	w.Must(c.Get(w.T.Context(), client.ObjectKeyFromObject(obj), obj))
	how()
	want := obj.DeepCopyObject().(client.Object)
	w.Must(c.Update(w.T.Context(), obj))
	want.SetResourceVersion(obj.GetResourceVersion())
	w.Must(c.Status().Update(w.T.Context(), want))
}

func (w *testEnv) hcp() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}}
}

// start makes both controllers anew and returns one pass over all objects.
func (w *testEnv) start() func(context.Context) error {
	signer, sessions := w.Sessions()
	opts := Options{
		Client: w.Client(), Reader: w.Client(), Scheme: scheme, Recorder: w.eventLog, Clock: w.Clock, KeyReady: signer.Ready, ResyncPeriod: resync,
		Sessions: sessions,
	}
	w.sessions, w.reconciler, w.observer = sessions, New(opts), NewObserver(opts)
	return w.pass
}

// eventLog keeps the events.
type eventLog struct{ lines []string }

func (d *eventLog) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	d.lines = append(d.lines, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

// read returns the events since the last time, without values that AWS generates.
func (d *eventLog) read() []string {
	lines := d.lines
	d.lines = nil
	for i := range lines {
		lines[i] = masked(lines[i])
	}
	return lines
}

func (w *testEnv) pass(ctx context.Context) error {
	var errs []error
	hcps := &hyperv1.HostedControlPlaneList{}
	w.Must(w.Admin().List(ctx, hcps))
	for i := range hcps.Items {
		_, err := w.observer.ReconcileObject(ctx, &hcps.Items[i])
		errs = append(errs, err)
	}
	for _, es := range w.list(ctx) {
		_, err := w.reconciler.ReconcileObject(ctx, es)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (w *testEnv) list(ctx context.Context) []*hyperv1.AWSEndpointService {
	list := &hyperv1.AWSEndpointServiceList{}
	w.Must(w.Admin().List(ctx, list))
	var out []*hyperv1.AWSEndpointService
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out
}

// runHypershiftOperator does the work of the hypershift-operator: it names the subnets and
// the endpoint service.
func (w *testEnv) runHypershiftOperator(ctx context.Context) error {
	for _, es := range w.list(ctx) {
		if es.Spec.SubnetIDs == nil && len(w.subnets) > 0 {
			es.Spec.SubnetIDs = w.subnets[:min(2, len(w.subnets))]
			if err := w.Admin().Update(ctx, es); err != nil {
				return err
			}
		}
		p := reconcile.NewWriter(w.Admin(), w.Admin(), es, names.HypershiftOperator, func(es *hyperv1.AWSEndpointService) any {
			return hyperv1.AWSEndpointServiceStatus{EndpointServiceName: es.Status.EndpointServiceName, AvailabilityZoneIDs: es.Status.AvailabilityZoneIDs}
		})
		es.Status.EndpointServiceName, es.Status.AvailabilityZoneIDs = w.services[es.Name], w.zones
		if err := p.Write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// runPasses lets everybody work until n passes have gone by.
func (w *testEnv) runPasses(passes int) {
	w.T.Helper()
	for range passes {
		_ = w.pass(w.T.Context())
		w.Must(w.runHypershiftOperator(w.T.Context()))
		w.Must(w.CollectGarbage(w.T.Context()))
		w.Clock.Step(20 * time.Second)
	}
}

// enough is how many passes any change of a scenario takes.
const enough = 12

func (w *testEnv) condition(name string) metav1.Condition {
	w.T.Helper()
	es := &hyperv1.AWSEndpointService{}
	w.Must(w.Admin().Get(w.T.Context(), client.ObjectKey{Namespace: namespace, Name: name}, es))
	c := meta.FindStatusCondition(es.Status.Conditions, hyperv1.AWSEndpointAvailable)
	if c == nil {
		w.T.Fatalf("%s has no condition: %+v", name, es.Status)
	}
	return *c
}

func (w *testEnv) ready(ctx context.Context) string {
	all := w.list(ctx)
	if len(all) != len(w.services) {
		return fmt.Sprintf("%d AWSEndpointServices", len(all))
	}
	for _, es := range all {
		if !meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointAvailable) {
			return fmt.Sprintf("%s: %+v", es.Name, meta.FindStatusCondition(es.Status.Conditions, hyperv1.AWSEndpointAvailable))
		}
	}
	return ""
}

// generated matches values that AWS generates: two runs do not share them.
var generated = regexp.MustCompile(`\b([a-z]+(?:-[a-z]+)?)-0[0-9a-f]{16}(-[0-9a-f]{8})?|(hypershift.openshift.io/applied): [0-9a-f]+`)

func masked(text string) string { return generated.ReplaceAllString(text, "$1$3-generated") }

// inAWS returns the lines of the cloud's picture that have all these words.
func (w *testEnv) inAWS(words ...string) []string {
	var out []string
lines:
	for _, line := range strings.Split(w.AWS.Snapshot(), "\n") {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue lines
			}
		}
		out = append(out, line)
	}
	return out
}
