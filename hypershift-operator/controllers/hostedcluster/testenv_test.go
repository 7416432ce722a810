package hostedcluster

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/limits"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/sizes"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/userobjects"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
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

// managementCluster is a management cluster with a bucket, in which a user creates a private cluster.
type managementCluster struct {
	*testenv.Env
	// region that the operator makes endpoint services in, and the bucket it has.
	region, bucket string
	releases       *fakerelease.Registry
	// refused makes the control-plane-operator unable to delete anything: AWS does not accept its identity.
	refused bool
	// down makes the pods of Deployments fail, with this message.
	down string
	// imageOverride lets clusters choose their operator.
	imageOverride bool
	sizes         sizes.Sizes
	// namespace of the operator, empty for an operator without reservations.
	namespace string
	// sharedRouter is whether the installation has a shared router.
	sharedRouter bool
	// enforced is whether NetworkPolicies are enforced; nil without a check.
	enforced func() metav1.ConditionStatus
	// stuck machines are not taken away.
	stuck bool
	// terminated counts the instances that Cluster API has terminated for a deletion.
	terminated int
	// lagging hides namespaces from the controller's cache, blind HostedClusters.
	lagging, blind bool
	// created are the cloud resources that the hosted cluster creates, and that it deletes on request.
	created []hyperv1.LeftBehindResource
	// silent makes the control-plane-operator stop its reports.
	silent bool
	// newKey generates signing keys; nil for one key for all clusters.
	newKey func() (private, public []byte, err error)
	// stale is a Secret as the controller's cache has it.
	stale *corev1.Secret
	// verifies makes the control-plane-operator verify which signing keys the API servers use.
	verifies bool
	// hasty deletes the cluster while it gets its finalizer, as a user could.
	hasty bool
}

func newEmptyManagementCluster(t testing.TB) *managementCluster {
	options := []testenv.Option{
		testenv.WithScheme(scheme), testenv.WithRealTime(),
		testenv.WithKinds(
			&hyperv1.HostedClusterList{}, &hyperv1.HostedControlPlaneList{}, &hyperv1.NodePoolList{}, &hyperv1.AWSEndpointServiceList{},
			&corev1.NamespaceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &appsv1.DeploymentList{},
			&rbacv1.ClusterRoleBindingList{}, &networkingv1.NetworkPolicyList{}, &corev1.ServiceList{}, &corev1.ResourceQuotaList{}, &corev1.LimitRangeList{},
			&clusterv1.ClusterList{}, &infrav1.AWSClusterList{}, &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{}, &infrav1.AWSMachineList{},
		),
		testenv.WithStatus(&hyperv1.HostedCluster{}, &hyperv1.HostedControlPlane{}, &hyperv1.AWSEndpointService{}, &appsv1.Deployment{}, &infrav1.AWSCluster{}),
		testenv.WithIndex(&hyperv1.NodePool{}, index.NodePoolCluster, index.ByCluster),
		testenv.WithIndex(&hyperv1.HostedCluster{}, userobjects.Index, userobjects.IndexValues),
	}
	for name, values := range indexes(false) {
		options = append(options, testenv.WithIndex(&hyperv1.HostedCluster{}, name, values))
	}
	e := &managementCluster{
		Env: testenv.New(t, options...), region: region, bucket: bucket,
		releases: fakerelease.New(
			fakerelease.Kubernetes("example.test/release:1", "1.35.4"), fakerelease.Kubernetes("example.test/release:2", "1.36.3")),
	}
	e.Object, e.Start, e.Others = privateCluster(), e.start, e.others
	e.AWS.Account(provider).AddBucket(region, bucket)
	return e
}

func newManagementCluster(t testing.TB) *managementCluster {
	e := newEmptyManagementCluster(t)
	e.Create(testenv.PullSecret(), privateCluster(), pool())
	return e
}

// planeNamespace returns the control plane's namespace.
func planeNamespace() *corev1.Namespace { return &corev1.Namespace{ObjectMeta: testenv.In("", plane)} }

func pool() *hyperv1.NodePool {
	return &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "workers", Finalizers: []string{hyperv1.HostedClusterFinalizer}},
		Spec:       hyperv1.NodePoolSpec{ClusterName: "demo"},
	}
}

var privateCluster = testenv.PrivateCluster

// start makes the controller anew and returns one pass of it over all clusters.
func (e *managementCluster) start() testenv.Pass {
	cached := e.ClientWith(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ok := obj.(*corev1.Namespace); ok && e.lagging {
				return apierrors.NewNotFound(corev1.Resource("namespaces"), key.Name)
			}
			if _, ok := obj.(*hyperv1.HostedCluster); ok && e.blind {
				return apierrors.NewNotFound(hyperv1.GroupVersion.WithResource("hostedclusters").GroupResource(), key.Name)
			}
			if secret, ok := obj.(*corev1.Secret); ok && e.stale != nil && key == client.ObjectKeyFromObject(e.stale) {
				e.stale.DeepCopyInto(secret)
				return nil
			}
			return c.Get(ctx, key, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := c.Patch(ctx, obj, patch, opts...); err != nil {
				return err
			}
			if _, ok := obj.(*hyperv1.HostedCluster); ok && e.hasty {
				return e.deleteAtOnce(ctx)
			}
			return nil
		},
	})
	o := Options{
		Client: cached, Reader: e.Client(), UserObjects: e.Client(), PublishedSecrets: e.Client(), Scheme: scheme, Recorder: e.Events, Clock: e.Clock,
		AllowOperatorImageOverride: e.imageOverride, Releases: e.releases, Limits: limits.Default(), Sizes: e.sizes, PoliciesEnforced: e.enforced,
		GenerateKey: oneKey, PrivateRegion: e.region, ControlPlaneOperatorImage: image, ClusterAPIImage: "example.test/cluster-api:1", CAPIProviderImage: "example.test/cluster-api-provider-aws:1",
		Resync: 30 * time.Minute, DocumentsAge: time.Hour, Namespace: e.namespace, SharedRouter: e.sharedRouter,
	}
	if e.newKey != nil {
		o.GenerateKey = e.newKey
	}
	if e.bucket != "" {
		o.Documents = oidcdocs.New(oidcdocs.NewClient(e.Config(e.AWS.Account(provider), region, "hypershift-operator")), e.bucket)
	}
	r := New(o)
	return func(ctx context.Context) error {
		requests, err := e.requests(ctx)
		if err != nil {
			return err
		}
		var errs []error
		for _, req := range requests {
			errs = append(errs, e.RecordResult(r.Reconcile(ctx, req)))
		}
		return errors.Join(errs...)
	}
}

// requests are those that the watches of HostedClusters and of namespaces make.
func (e *managementCluster) requests(ctx context.Context) ([]ctrl.Request, error) {
	var clusters hyperv1.HostedClusterList
	var namespaces corev1.NamespaceList
	if err := errors.Join(e.Admin().List(ctx, &clusters), e.Admin().List(ctx, &namespaces)); err != nil {
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
func (e *managementCluster) others(ctx context.Context) error {
	return errors.Join(e.clusterAPI(ctx), e.deployments(ctx), e.controlPlaneOperator(ctx), e.otherHalf(ctx))
}

// deployments says whether the pods of Deployments run.
func (e *managementCluster) deployments(ctx context.Context) error {
	var list appsv1.DeploymentList
	if err := e.Admin().List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		d, want := &list.Items[i], corev1.ConditionTrue
		if e.down != "" {
			want = corev1.ConditionFalse
		}
		if slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentAvailable && c.Status == want
		}) {
			continue
		}
		d.Status.Replicas = 1
		d.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: want, LastTransitionTime: metav1.NewTime(e.Clock.Now()), Reason: "Counted", Message: e.down},
		}
		if err := e.Admin().Status().Update(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// release takes a finalizer from an object that is being deleted.
func (e *managementCluster) release(ctx context.Context, obj client.Object, finalizer string) error {
	if obj.GetDeletionTimestamp().IsZero() || !slices.Contains(obj.GetFinalizers(), finalizer) {
		return nil
	}
	obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == finalizer }))
	return client.IgnoreNotFound(e.Admin().Update(ctx, obj))
}

func (e *managementCluster) controlPlaneOperator(ctx context.Context) error {
	c := e.Admin()
	var hcps hyperv1.HostedControlPlaneList
	if err := c.List(ctx, &hcps); err != nil {
		return err
	}
	deployment := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: plane, Name: "control-plane-operator"}, deployment); err != nil || e.down != "" {
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
			err = e.release(ctx, hcp, hyperv1.HostedClusterFinalizer)
		case !hcp.DeletionTimestamp.IsZero():
			if !e.refused {
				err = e.release(ctx, &endpoints.Items[0], hyperv1.ControlPlaneOperatorFinalizer)
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
		case e.silent:
		case hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == "true":
			err = errors.Join(e.reportAwake(ctx, hcp), e.deleteCreated(ctx, hcp))
		case hcp.Sleeps():
			err = e.reportAsleep(ctx, hcp)
		case meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.HostedClusterAsleep) != nil:
			err = e.reportAwake(ctx, hcp)
		default:
			err = errors.Join(e.reportHealthy(ctx, hcp, &endpoints.Items[0]), e.reportKeys(ctx, hcp))
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// deleteCreated reports the resources that the hosted cluster has created, and one pass later that they are deleted.
func (e *managementCluster) deleteCreated(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	c := metav1.Condition{Type: hyperv1.CloudResourcesDestroyed, Status: metav1.ConditionTrue, Message: reconcile.AllIsWell}
	was := meta.FindStatusCondition(hcp.Status.Conditions, c.Type)
	switch {
	case was != nil && was.Status == c.Status:
		return nil
	case was == nil && len(e.created) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, hyperv1.CloudResourcesRemainingReason, "load balancer a1"
	}
	hcp.Status.RemainingCloudResources = nil
	if c.Status != metav1.ConditionTrue {
		hcp.Status.RemainingCloudResources = e.created
	}
	reconcile.SetCondition(&hcp.Status.Conditions, c, e.Clock.Now())
	return e.Admin().Status().Update(ctx, hcp)
}

// reportHealthy sets the conditions of a control plane that is well.
func (e *managementCluster) reportHealthy(ctx context.Context, hcp *hyperv1.HostedControlPlane, es *hyperv1.AWSEndpointService) error {
	if meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointAvailable) {
		return nil
	}
	for _, condition := range []string{hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable} {
		reconcile.SetCondition(&es.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Message: reconcile.AllIsWell}, e.Clock.Now())
	}
	es.Status.EndpointID, es.Status.SecurityGroupID = "vpce-1", "sg-1"
	es.Status.DNSNames, es.Status.DNSZoneID = []string{"api.demo.hypershift.local"}, "Z1"
	hcp.Status.Initialized = len(e.created) > 0
	hcp.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: names.LocalAPI(hcp.Name), Port: 443}
	for _, condition := range []string{hyperv1.InfrastructureReady, hyperv1.ValidAWSIdentityProvider, hyperv1.KubeAPIServerAvailable, hyperv1.EtcdAvailable} {
		reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Message: reconcile.AllIsWell}, e.Clock.Now())
	}
	return errors.Join(e.Admin().Status().Update(ctx, es), e.Admin().Status().Update(ctx, hcp))
}

// otherHalf lets an AWSEndpointService go once the customer's half is gone.
func (e *managementCluster) otherHalf(ctx context.Context) error {
	var endpoints hyperv1.AWSEndpointServiceList
	if err := e.Admin().List(ctx, &endpoints); err != nil {
		return err
	}
	for i := range endpoints.Items {
		es := &endpoints.Items[i]
		if slices.Contains(es.Finalizers, hyperv1.ControlPlaneOperatorFinalizer) {
			continue
		}
		if err := e.release(ctx, es, hyperv1.HypershiftOperatorFinalizer); err != nil {
			return err
		}
	}
	return nil
}

// hc returns the HostedCluster as the API server has it.
func (e *managementCluster) hc() *hyperv1.HostedCluster { return testenv.Read(e.Env, privateCluster()) }
