package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/limits"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/userobjects"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	region   = testenv.Region
	provider = testenv.Provider
	bucket   = "documents"
	image    = "example.test/control-plane-operator:1"
	plane    = testenv.Namespace
)

var scheme = testenv.Scheme(rbacv1.AddToScheme, appsv1.AddToScheme, networkingv1.AddToScheme, discoveryv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme)

// oneKey returns the same key for all clusters: a key takes longer than a test.
func oneKey() (private, public []byte, err error) {
	private, public = testenv.SigningKey()
	return private, public, nil
}

// testEnv is a management cluster with a bucket, in which somebody wants a
// private cluster.
type testEnv struct {
	*crashtest.Cluster
	cloud  *fakeaws.Cloud
	clock  *clocktesting.FakeClock
	events *events.FakeRecorder
	// region that the operator makes endpoint services in, and the bucket it has.
	region, bucket string
	releases       *fakerelease.Registry
	// refused makes the control-plane-operator unable to delete anything: AWS does not accept its identity.
	refused bool
	// down makes the pods of Deployments fail, with this message.
	down string
	// imageOverride lets clusters choose their operator.
	imageOverride bool
	// namespace of the operator, empty for an operator without reservations.
	namespace string
	// enforced is whether NetworkPolicies are enforced; nil without a check.
	enforced func() metav1.ConditionStatus
	// stuck machines are not taken away.
	stuck bool
	// lagging hides namespaces from the controller's cache, blind HostedClusters.
	lagging, blind bool
	// created are the cloud resources that the hosted cluster creates, and that it deletes on request.
	created []hyperv1.LeftBehindResource
	// silent makes the control-plane-operator stop its reports.
	silent bool
	// hasty deletes the cluster while it gets its finalizer, as a user could.
	hasty bool
}

// cached is the client of the controller.
type cached struct {
	client.Client
	w *testEnv
}

func (c cached) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*corev1.Namespace); ok && c.w.lagging {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), key.Name)
	}
	if _, ok := obj.(*hyperv1.HostedCluster); ok && c.w.blind {
		return apierrors.NewNotFound(hyperv1.GroupVersion.WithResource("hostedclusters").GroupResource(), key.Name)
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

func (c cached) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := c.Client.Patch(ctx, obj, patch, opts...); err != nil {
		return err
	}
	if _, ok := obj.(*hyperv1.HostedCluster); ok && c.w.hasty {
		return c.w.deleteAtOnce(ctx)
	}
	return nil
}

func emptyTestEnv(t testing.TB) *testEnv {
	w := &testEnv{
		clock:  clocktesting.NewFakeClock(time.Now()), // the fake API server stamps deletions with the real time
		events: events.NewFakeRecorder(1000),
		region: region,
		bucket: bucket,
		releases: fakerelease.New(
			fakerelease.Kubernetes("example.test/release:1", "1.35.4"), fakerelease.Kubernetes("example.test/release:2", "1.36.3")),
	}
	w.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme: scheme,
		Kinds: []client.ObjectList{
			&hyperv1.HostedClusterList{}, &hyperv1.HostedControlPlaneList{}, &hyperv1.NodePoolList{}, &hyperv1.AWSEndpointServiceList{},
			&corev1.NamespaceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &appsv1.DeploymentList{},
			&rbacv1.ClusterRoleBindingList{}, &networkingv1.NetworkPolicyList{}, &corev1.ResourceQuotaList{}, &corev1.LimitRangeList{},
			&clusterv1.ClusterList{}, &infrav1.AWSClusterList{}, &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{}, &infrav1.AWSMachineList{},
		},
		WithStatus: []client.Object{&hyperv1.HostedCluster{}, &hyperv1.HostedControlPlane{}, &hyperv1.AWSEndpointService{}, &appsv1.Deployment{}, &infrav1.AWSCluster{}},
		Index: func(b *fake.ClientBuilder) {
			b.WithIndex(&hyperv1.NodePool{}, index.NodePoolCluster, index.ByCluster).WithIndex(&hyperv1.HostedCluster{}, userobjects.Index, userobjects.IndexValues)
			for name, values := range indexes(false) {
				b.WithIndex(&hyperv1.HostedCluster{}, name, values)
			}
		},
	})
	w.cloud = fakeaws.New(w.clock).FailOn(t)
	w.cloud.Account(provider).AddBucket(region, bucket)
	return w
}

func newTestEnv(t testing.TB) *testEnv {
	w := emptyTestEnv(t)
	w.Create(t, pullSecret(), privateCluster(), pool())
	return w
}

func pullSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "my-pull-secret"},
		Data:       map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)},
	}
}

func pool() *hyperv1.NodePool {
	return &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "workers", Finalizers: []string{hyperv1.HostedClusterFinalizer}},
		Spec:       hyperv1.NodePoolSpec{ClusterName: "demo"},
	}
}

var privateCluster = testenv.PrivateCluster

// start makes the controller anew and returns one pass of it over all clusters.
func (w *testEnv) start() func(context.Context) error {
	cfg := w.cloud.Account(provider).Config(region, "hypershift-operator")
	cfg.APIOptions = append(slices.Clone(cfg.APIOptions), func(s *middleware.Stack) error { return w.Calls.Middleware(s) })
	o := Options{
		Client: cached{w.Client(), w}, Reader: w.Client(), Scheme: scheme, Recorder: w.events, Clock: w.clock,
		AllowOperatorImageOverride: w.imageOverride, Releases: w.releases, Limits: limits.Default(), PoliciesEnforced: w.enforced,
		GenerateKey: oneKey, PrivateRegion: w.region, ControlPlaneOperatorImage: image, ClusterAPIImage: "example.test/cluster-api:1", CAPIProviderImage: "example.test/cluster-api-provider-aws:1",
		Resync: 30 * time.Minute, DocumentsAge: time.Hour, Namespace: w.namespace,
	}
	if w.bucket != "" {
		o.Documents = oidcdocs.New(oidcdocs.NewClient(cfg), w.bucket)
	}
	r := New(o)
	return func(ctx context.Context) error {
		requests, err := w.requests(ctx)
		if err != nil {
			return err
		}
		var errs []error
		for _, req := range requests {
			errs = append(errs, w.RecordResult(r.Reconcile(ctx, req)))
		}
		return errors.Join(errs...)
	}
}

// requests are those that the watches of HostedClusters and of namespaces make.
func (w *testEnv) requests(ctx context.Context) ([]ctrl.Request, error) {
	var clusters hyperv1.HostedClusterList
	var namespaces corev1.NamespaceList
	if err := errors.Join(w.Admin().List(ctx, &clusters), w.Admin().List(ctx, &namespaces)); err != nil {
		return nil, err
	}
	var requests []ctrl.Request
	for i := range clusters.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
	}
	for i := range namespaces.Items {
		for _, req := range requestForAnnotation(ctx, &namespaces.Items[i]) {
			if !slices.Contains(requests, req) {
				requests = append(requests, req)
			}
		}
	}
	return requests, nil
}

// others acts for the control-plane-operator, the other half of AWSEndpointServices, and the machines of the node pool. Their work takes
// one pass each.
func (w *testEnv) others(ctx context.Context) error {
	return errors.Join(w.clusterAPI(ctx), w.deployments(ctx), w.controlPlaneOperator(ctx), w.otherHalf(ctx))
}

// deployments says whether the pods of Deployments run.
func (w *testEnv) deployments(ctx context.Context) error {
	var list appsv1.DeploymentList
	if err := w.Admin().List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		d, want := &list.Items[i], corev1.ConditionTrue
		if w.down != "" {
			want = corev1.ConditionFalse
		}
		if slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentAvailable && c.Status == want
		}) {
			continue
		}
		d.Status.Replicas = 1
		d.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: want, LastTransitionTime: metav1.NewTime(w.clock.Now()), Reason: "Counted", Message: w.down},
		}
		if err := w.Admin().Status().Update(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// release takes a finalizer from an object that is being deleted.
func (w *testEnv) release(ctx context.Context, obj client.Object, finalizer string) error {
	if obj.GetDeletionTimestamp().IsZero() || !slices.Contains(obj.GetFinalizers(), finalizer) {
		return nil
	}
	obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == finalizer }))
	return client.IgnoreNotFound(w.Admin().Update(ctx, obj))
}

func (w *testEnv) controlPlaneOperator(ctx context.Context) error {
	c := w.Admin()
	var hcps hyperv1.HostedControlPlaneList
	if err := c.List(ctx, &hcps); err != nil {
		return err
	}
	deployment := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: plane, Name: "control-plane-operator"}, deployment); err != nil || w.down != "" {
		return client.IgnoreNotFound(err)
	}
	for i := range hcps.Items {
		hcp := &hcps.Items[i]
		var endpoints hyperv1.AWSEndpointServiceList
		if err := c.List(ctx, &endpoints, client.InNamespace(hcp.Namespace)); err != nil {
			return err
		}
		var err error
		switch {
		case !hcp.DeletionTimestamp.IsZero() && len(endpoints.Items) == 0:
			err = w.release(ctx, hcp, hyperv1.HostedClusterFinalizer)
		case !hcp.DeletionTimestamp.IsZero():
			if !w.refused {
				err = w.release(ctx, &endpoints.Items[0], hyperv1.ControlPlaneOperatorFinalizer)
			}
		case !slices.Contains(hcp.Finalizers, hyperv1.HostedClusterFinalizer):
			hcp.Finalizers = append(hcp.Finalizers, hyperv1.HostedClusterFinalizer)
			err = c.Update(ctx, hcp)
		case len(endpoints.Items) == 0:
			err = c.Create(ctx, &hyperv1.AWSEndpointService{
				ObjectMeta: metav1.ObjectMeta{Namespace: hcp.Namespace, Name: "private-router",
					Finalizers: []string{hyperv1.ControlPlaneOperatorFinalizer, hyperv1.HypershiftOperatorFinalizer}},
				Spec: hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: "a1"},
			})
		case w.silent:
		case hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == "true":
			err = w.deleteCreated(ctx, hcp)
		default:
			err = w.reportHealthy(ctx, hcp, &endpoints.Items[0])
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// deleteCreated reports the resources that the hosted cluster has created, and one pass later that they are deleted.
func (w *testEnv) deleteCreated(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	c := metav1.Condition{Type: hyperv1.CloudResourcesDestroyed, Status: metav1.ConditionTrue, Message: reconcile.AllIsWell}
	was := meta.FindStatusCondition(hcp.Status.Conditions, c.Type)
	switch {
	case was != nil && was.Status == c.Status:
		return nil
	case was == nil && len(w.created) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, hyperv1.CloudResourcesRemainingReason, "load balancer a1"
	}
	hcp.Status.RemainingCloudResources = nil
	if c.Status != metav1.ConditionTrue {
		hcp.Status.RemainingCloudResources = w.created
	}
	reconcile.SetCondition(&hcp.Status.Conditions, c, w.clock.Now())
	return w.Admin().Status().Update(ctx, hcp)
}

// reportHealthy sets the conditions of a control plane that is well.
func (w *testEnv) reportHealthy(ctx context.Context, hcp *hyperv1.HostedControlPlane, es *hyperv1.AWSEndpointService) error {
	if meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointAvailable) {
		return nil
	}
	for _, condition := range []string{hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable} {
		reconcile.SetCondition(&es.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Message: reconcile.AllIsWell}, w.clock.Now())
	}
	es.Status.EndpointID, es.Status.SecurityGroupID = "vpce-1", "sg-1"
	es.Status.DNSNames, es.Status.DNSZoneID = []string{"api.demo.hypershift.local"}, "Z1"
	hcp.Status.Initialized = len(w.created) > 0
	hcp.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: names.LocalAPI(hcp.Name), Port: 443}
	for _, condition := range []string{hyperv1.InfrastructureReady, hyperv1.ValidAWSIdentityProvider, hyperv1.KubeAPIServerAvailable, hyperv1.EtcdAvailable} {
		reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Message: reconcile.AllIsWell}, w.clock.Now())
	}
	return errors.Join(w.Admin().Status().Update(ctx, es), w.Admin().Status().Update(ctx, hcp))
}

// otherHalf lets an AWSEndpointService go once the customer's half is gone.
func (w *testEnv) otherHalf(ctx context.Context) error {
	var endpoints hyperv1.AWSEndpointServiceList
	if err := w.Admin().List(ctx, &endpoints); err != nil {
		return err
	}
	for i := range endpoints.Items {
		es := &endpoints.Items[i]
		if slices.Contains(es.Finalizers, hyperv1.ControlPlaneOperatorFinalizer) {
			continue
		}
		if err := w.release(ctx, es, hyperv1.HypershiftOperatorFinalizer); err != nil {
			return err
		}
	}
	return nil
}

func (w *testEnv) get(ctx context.Context) (*hyperv1.HostedCluster, error) {
	hc := &hyperv1.HostedCluster{}
	return hc, w.Admin().Get(ctx, client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc)
}

// run lets everybody do their work for a number of passes.
func (w *testEnv) run(t testing.TB, pass func(context.Context) error, passes int) {
	t.Helper()
	for range passes {
		if err := pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.others(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.CollectGarbage(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.clock.Step(20 * time.Second)
	}
}

// condition returns a condition of the cluster.
func (w *testEnv) condition(t testing.TB, name string) metav1.Condition {
	t.Helper()
	hc, err := w.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := meta.FindStatusCondition(hc.Status.Conditions, name)
	if c == nil {
		t.Fatalf("no condition %s in %+v", name, hc.Status.Conditions)
	}
	return *c
}

func (w *testEnv) ready(ctx context.Context) string {
	hc, err := w.get(ctx)
	if err != nil {
		return err.Error()
	}
	if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterAvailable); c == nil || c.Status != metav1.ConditionTrue {
		return fmt.Sprintf("available: %+v", c)
	}
	return ""
}
