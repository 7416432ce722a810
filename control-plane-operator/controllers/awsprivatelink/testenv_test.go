package awsprivatelink

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/kubescheme"
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

// customerNetwork is a private cluster as far as these controllers can see it: the
// control plane, its private Service with a load balancer, the endpoint
// service on that, and the customer's account.
type customerNetwork struct {
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

	sessions   *identity.Sessions
	reconciler *Controller
	observer   *ObserverController
}

func newCustomerNetwork(t testing.TB) *customerNetwork {
	e := &customerNetwork{
		Env:      testenv.New(t, clusterOptions...),
		services: map[string]string{},
		balancer: "a-",
	}
	e.AWS.SetDelays(fakeaws.Delays{EndpointPending: time.Minute, EndpointDeleting: time.Minute})
	e.mine, e.theirs = e.AWS.Account(provider), e.AWS.Account(customer)
	e.TrustIssuer(e.theirs)
	e.addRole()
	e.vpc = e.theirs.AddVPC(region, fakeaws.VPC{})
	for _, name := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
		// The same place has another name in the customer's account.
		e.subnets = append(e.subnets, e.addSubnet(e.vpc, e.mine.ZoneID(name)))
	}
	e.zone = e.addZone(e.vpc)
	e.Start, e.Others = e.start, e.runHypershiftOperator
	e.Create(testenv.SigningKeySecret(), controlPlaneOf(e))
	e.addService(names.PrivateRouter)
	return e
}

var clusterOptions = []testenv.Option{
	testenv.WithScheme(func() *runtime.Scheme {
		s := runtime.NewScheme()
		utilruntime.Must(errors.Join(kubescheme.AddToScheme(s), hyperv1.AddToScheme(s)))
		return s
	}()),
	testenv.WithKinds(&hyperv1.AWSEndpointServiceList{}, &corev1.ServiceList{}, &appsv1.DeploymentList{}, &hyperv1.HostedControlPlaneList{}),
	testenv.WithStatus(&hyperv1.AWSEndpointService{}, &hyperv1.HostedControlPlane{}, &corev1.Service{}),
}

// newControlPlane is another cluster of the same name in the same VPC, on a
// management cluster of its own.
func newControlPlane(first *customerNetwork, uid types.UID) *customerNetwork {
	e := *first
	e.Env = testenv.New(first.T, append(slices.Clone(clusterOptions), testenv.WithAWSOf(first.Env, 0))...)
	e.Start, e.Others = e.start, e.runHypershiftOperator
	e.services = map[string]string{}
	hcp := controlPlaneOf(&e)
	hcp.UID, hcp.Spec.InfraID = uid, "demo-y"
	e.Create(testenv.SigningKeySecret(), hcp)
	e.balancer = "b-"
	e.addService(names.PrivateRouter)
	e.start()
	return &e
}

func (e *customerNetwork) addRole() {
	e.role = e.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Path: "demo", Trusts: []fakeaws.Trust{{
		Issuer: issuer, Subjects: []string{names.ControlPlaneOperatorSubject}, Audiences: []string{names.WebIdentityAudience},
	}}})
}

func (e *customerNetwork) addZone(vpc string) string {
	return e.theirs.AddHostedZone(fakeaws.HostedZone{Name: names.LocalZone("demo"), VPCs: []fakeaws.ZoneVPC{{Region: region, ID: vpc}}})
}

// wantSubnets sets the subnets, as the hypershift-operator does for the NodePools.
func (e *customerNetwork) wantSubnets(ids ...string) {
	e.T.Helper()
	for _, es := range e.list(e.T.Context()) {
		e.Change(es, func() { es.Spec.SubnetIDs = append([]string{}, ids...) })
	}
	e.subnets = append([]string{}, ids...)
}

func (e *customerNetwork) addSubnet(vpc, zoneID string) string {
	return e.theirs.AddSubnet(region, fakeaws.Subnet{VPC: vpc, Zone: e.theirs.ZoneName(region, zoneID)})
}

func controlPlaneOf(e *customerNetwork) *hyperv1.HostedControlPlane {
	return testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		aws := hcp.Spec.Platform.AWS
		aws.CloudProviderConfig = &hyperv1.AWSCloudProviderConfig{VPC: e.vpc}
		aws.RolesRef.ControlPlaneOperatorARN = hyperv1.RoleARN(e.role)
		aws.ResourceTags = []hyperv1.AWSResourceTag{{Key: "team", Value: "blue"}}
		hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{testenv.Published(hyperv1.APIServer, "api.demo.example.com")}
	})
}

// addService makes a Service as the cloud controller leaves it, and the endpoint
// service of the management account on its load balancer.
func (e *customerNetwork) addService(name string) {
	arn, host := e.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: e.balancer + name, Zones: []string{"us-east-1a", "us-east-1b"}, State: "active"})
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	e.Create(svc)
	e.Change(svc, func() { svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}} })
	e.services[name] = e.offer(arn)
	e.zones = []string{e.mine.ZoneID("us-east-1a"), e.mine.ZoneID("us-east-1b")}
}

// offer makes an endpoint service that the customer's role may use.
func (e *customerNetwork) offer(arn string) string {
	made, err := e.ho().CreateVpcEndpointServiceConfiguration(e.T.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		NetworkLoadBalancerArns: []string{arn}, AcceptanceRequired: aws.Bool(false)})
	e.Must(err)
	e.allow("arn:aws:iam::" + customer + ":role/demo-cpo")
	return *made.ServiceConfiguration.ServiceName
}

// allow lets a role use all endpoint services.
func (e *customerNetwork) allow(principal string) {
	services, err := e.ho().DescribeVpcEndpointServiceConfigurations(e.T.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	e.Must(err)
	for _, s := range services.ServiceConfigurations {
		_, err := e.ho().ModifyVpcEndpointServicePermissions(e.T.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{
			ServiceId: s.ServiceId, AddAllowedPrincipals: []string{principal}})
		e.Must(err)
	}
}

// ho and customerEC2 are clients of others: their calls are not the controller's.
func (e *customerNetwork) ho() *ec2.Client {
	return awsx.EC2(e.mine.Config(region, "hypershift-operator"))
}
func (e *customerNetwork) customerEC2() *ec2.Client {
	return awsx.EC2(e.theirs.Config(region, "admin"))
}

// start makes both controllers anew and returns one pass over all objects.
func (e *customerNetwork) start() func(context.Context) error {
	signer, sessions := e.Sessions()
	opts := Options{
		Client: e.Client(), Reader: e.Client(), Scheme: e.Scheme, Recorder: e.Events, Clock: e.Clock, KeyReady: signer.Ready, ResyncPeriod: resync,
		Sessions: sessions,
	}
	e.sessions, e.reconciler, e.observer = sessions, New(opts), NewObserver(opts)
	return e.pass
}

// recorded returns the events since the last time, without values that AWS generates.
func (e *customerNetwork) recorded() []string {
	lines := e.Events.Drain()
	for i := range lines {
		lines[i] = masked(lines[i])
	}
	return lines
}

func (e *customerNetwork) pass(ctx context.Context) error {
	var errs []error
	hcps := &hyperv1.HostedControlPlaneList{}
	e.Must(e.Admin().List(ctx, hcps))
	for i := range hcps.Items {
		_, err := e.observer.ReconcileObject(ctx, &hcps.Items[i])
		errs = append(errs, err)
	}
	for _, es := range e.list(ctx) {
		_, err := e.reconciler.ReconcileObject(ctx, es)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (e *customerNetwork) list(ctx context.Context) []*hyperv1.AWSEndpointService {
	list := &hyperv1.AWSEndpointServiceList{}
	e.Must(e.Admin().List(ctx, list))
	var out []*hyperv1.AWSEndpointService
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out
}

// runHypershiftOperator does the work of the hypershift-operator: it names the subnets and
// the endpoint service.
func (e *customerNetwork) runHypershiftOperator(ctx context.Context) error {
	for _, es := range e.list(ctx) {
		if es.Spec.SubnetIDs == nil && len(e.subnets) > 0 {
			es.Spec.SubnetIDs = e.subnets[:min(2, len(e.subnets))]
			if err := e.Admin().Update(ctx, es); err != nil {
				return err
			}
		}
		p := reconcile.NewWriter(e.Admin(), e.Admin(), es, names.HypershiftOperator, func(es *hyperv1.AWSEndpointService) any {
			return hyperv1.AWSEndpointServiceStatus{EndpointServiceName: es.Status.EndpointServiceName, AvailabilityZoneIDs: es.Status.AvailabilityZoneIDs}
		})
		es.Status.EndpointServiceName, es.Status.AvailabilityZoneIDs = e.services[es.Name], e.zones
		if err := p.Write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// runPasses lets everybody work until n passes have gone by.
func (e *customerNetwork) runPasses(passes int) {
	e.T.Helper()
	for range passes {
		_ = e.pass(e.T.Context())
		e.Must(e.runHypershiftOperator(e.T.Context()))
		e.Must(e.CollectGarbage(e.T.Context()))
		e.Clock.Step(20 * time.Second)
	}
}

// enough is how many passes any change of a scenario takes.
const enough = 12

func (e *customerNetwork) ready(ctx context.Context) string {
	all := e.list(ctx)
	if len(all) != len(e.services) {
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
var generated = regexp.MustCompile(`\b([a-z]+(?:-[a-z]+)?)-0[0-9a-f]{16}(-[0-9a-f]{8})?|(hypershift.openshift.io/applied): [0-9a-f]+|(hypershift.openshift.io/ready-since): \S+`)

func masked(text string) string { return generated.ReplaceAllString(text, "$1$3$4-generated") }
