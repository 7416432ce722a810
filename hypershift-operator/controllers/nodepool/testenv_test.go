package nodepool

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/requirements"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	plane    = nodepooltest.Namespace
	image136 = nodepooltest.Image136
	image135 = nodepooltest.Image135
)

var scheme = testenv.Scheme(appsv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme)

// releases answers without a registry.
type releases struct {
	known map[string]*release.Release
	down  bool
}

func (r *releases) Resolve(_ context.Context, image string, _ []byte) (*release.Release, error) {
	if r.down {
		return nil, &release.Error{Kind: release.Unreachable, Image: image, Detail: "no answer in time"}
	}
	if rel := r.known[image]; rel != nil {
		return rel, nil
	}
	return nil, &release.Error{Kind: release.NotFound, Image: image, Detail: "example.test answered 404 Not Found"}
}

func (r *releases) NodePrograms(_ context.Context, image string, _ hyperv1.Architecture, _ []byte) (*hyperv1.NodePrograms, error) {
	_, digest, _ := strings.Cut(image, "@")
	return &hyperv1.NodePrograms{
		Digest: digest, Repositories: []string{"https://example.test/v2/node-programs"}, Layers: []hyperv1.NodeProgramsLayer{{Digest: digest, Size: 1 << 20}},
	}, nil
}

// instanceTypes answers without AWS.
type instanceTypes map[string]*instancetypes.Type

func (i instanceTypes) Describe(_ context.Context, _, name string) (*instancetypes.Type, error) {
	return i[name], nil
}

// fakeClusterAPI is a management cluster with Cluster API, in which a HostedCluster has a NodePool.
type fakeClusterAPI struct {
	*testenv.Env
	capi     *capi
	releases *releases
	types    requirements.InstanceTypes
	// missing are kinds that the management cluster does not have.
	missing string
}

func newFakeClusterAPI(t testing.TB) *fakeClusterAPI {
	e := newEmptyFakeClusterAPI(t)
	e.Create(nodepooltest.HostedCluster(), namespace(), controlPlane(), testenv.PullSecret(), capiDeployment(), e.Object)
	return e
}

func newEmptyFakeClusterAPI(t testing.TB) *fakeClusterAPI {
	e := &fakeClusterAPI{
		releases: &releases{known: map[string]*release.Release{image136: nodepooltest.Release("1.36.3", "ami-136"), image135: nodepooltest.Release("1.35.4", "ami-135")}},
		types: instanceTypes{
			"m6i.large": {Name: "m6i.large", Architectures: []string{"amd64"}, VCPUs: 2, MemoryMiB: 8192},
			"m6g.large": {Name: "m6g.large", Architectures: []string{"arm64"}, VCPUs: 2, MemoryMiB: 8192},
		},
		Env: testenv.New(t, testenv.WithScheme(scheme), testenv.WithSchemas("config/crd", "config/crd/external"), testenv.WithRealTime(),
			testenv.WithKinds(
				&hyperv1.NodePoolList{}, &hyperv1.NodeBootstrapTemplateList{},
				&clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{}, &clusterv1.MachineHealthCheckList{},
				&infrav1.AWSMachineTemplateList{}, &infrav1.AWSMachineList{},
			),
			testenv.WithStatus(&hyperv1.NodePool{}, &hyperv1.HostedCluster{}, &clusterv1.MachineDeployment{}, &clusterv1.Machine{}, &clusterv1.MachineHealthCheck{}, &infrav1.AWSMachine{}, &infrav1.AWSMachineTemplate{}),
		),
	}
	e.Object, e.Tick = nodepooltest.NodePool(), time.Minute
	e.capi = &capi{Client: e.Admin(), clock: e.Clock}
	e.Start, e.Others = e.start, e.capi.pass
	return e
}

func namespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        plane,
		Labels:      map[string]string{hyperv1.HostedClusterUIDLabel: string(nodepooltest.HostedCluster().UID)},
		Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"},
	}}
}

// controlPlane is the HostedControlPlane that the HostedCluster controller writes.
func controlPlane() *hyperv1.HostedControlPlane { return testenv.HostedControlPlane() }

func capiDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.ClusterAPI}, Status: appsv1.DeploymentStatus{AvailableReplicas: 1}}
}

var key = client.ObjectKeyFromObject(nodepooltest.NodePool())

// start is the controller, as a process that begins with empty hands.
func (e *fakeClusterAPI) start() testenv.Pass {
	r := newReconciler(Options{
		Client: e.Client(), Reader: e.Client(), UserObjects: e.Client(), Scheme: scheme, Recorder: e.Events, Clock: e.Clock,
		Releases: e.releases, InstanceTypes: e.types, Resync: 10 * time.Minute,
	})
	r.missing = e.missing
	return func(ctx context.Context) error {
		return e.RecordResult(r.controller().Reconcile(ctx, ctrl.Request{NamespacedName: key}))
	}
}

func (e *fakeClusterAPI) pool() *hyperv1.NodePool {
	return testenv.Read(e.Env, nodepooltest.NodePool())
}

func (e *fakeClusterAPI) changePool(change func(*hyperv1.NodePool)) {
	e.T.Helper()
	testenv.Change(e.Env, nodepooltest.NodePool(), change)
}

func (e *fakeClusterAPI) deployment() *clusterv1.MachineDeployment {
	e.T.Helper()
	deployments := testenv.Listed(e.Env, &clusterv1.MachineDeploymentList{}).Items
	if len(deployments) != 1 {
		e.T.Fatalf("%d MachineDeployments, want 1", len(deployments))
	}
	return &deployments[0]
}
