package nodepool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
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
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const (
	plane    = nodepooltest.Namespace
	image136 = nodepooltest.Image136
	image135 = nodepooltest.Image135
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, hyperv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		utilruntime.Must(add(s))
	}
	return s
}()

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

// testEnv is a management cluster in which a cluster wants a pool of workers.
type testEnv struct {
	*crashtest.Cluster
	capi     *capi
	clock    *clocktesting.FakeClock
	events   *events.FakeRecorder
	releases *releases
	types    requirements.InstanceTypes
	// missing are kinds that the management cluster does not have.
	missing string
}

func newTestEnv(t testing.TB) *testEnv {
	w := emptyTestEnv()
	w.Create(t, nodepooltest.HostedCluster(), namespace(), controlPlane(), pullSecret(), capiDeployment(), nodepooltest.NodePool())
	return w
}

func emptyTestEnv() *testEnv {
	w := &testEnv{
		clock:    clocktesting.NewFakeClock(time.Now()), // the fake API server stamps deletions with the real time
		events:   events.NewFakeRecorder(1000),
		releases: &releases{known: map[string]*release.Release{image136: nodepooltest.Release("1.36.3", "ami-136"), image135: nodepooltest.Release("1.35.4", "ami-135")}},
		types: instanceTypes{
			"m6i.large": {Name: "m6i.large", Architectures: []string{"amd64"}, VCPUs: 2, MemoryMiB: 8192},
			"m6g.large": {Name: "m6g.large", Architectures: []string{"arm64"}, VCPUs: 2, MemoryMiB: 8192},
		},
	}
	w.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme:     scheme,
		Converters: []managedfields.TypeConverter{crashtest.Converter("../../../config/crd"), crashtest.Converter("../../../config/crd/external")},
		Kinds: []client.ObjectList{
			&hyperv1.NodePoolList{}, &hyperv1.NodeBootstrapTemplateList{},
			&clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{}, &clusterv1.MachineHealthCheckList{},
			&infrav1.AWSMachineTemplateList{}, &infrav1.AWSMachineList{},
		},
		WithStatus: []client.Object{&hyperv1.NodePool{}, &hyperv1.HostedCluster{}, &clusterv1.MachineDeployment{}, &clusterv1.Machine{}, &clusterv1.MachineHealthCheck{}, &infrav1.AWSMachine{}, &infrav1.AWSMachineTemplate{}},
	})
	w.capi = &capi{Client: w.Admin(), clock: w.clock}
	return w
}

func namespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        plane,
		Labels:      map[string]string{hyperv1.HostedClusterUIDLabel: string(nodepooltest.HostedCluster().UID)},
		Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"},
	}}
}

// controlPlane is the HostedControlPlane that the HostedCluster controller writes.
func controlPlane() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "demo"}}
}

func pullSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "my-pull-secret"},
		Data:       map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)},
	}
}

func capiDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.ClusterAPI}, Status: appsv1.DeploymentStatus{AvailableReplicas: 1}}
}

var key = client.ObjectKeyFromObject(nodepooltest.NodePool())

// start is the controller, as a process that begins with empty hands.
func (w *testEnv) start() func(context.Context) error {
	r := newReconciler(Options{
		Client: w.Client(), Reader: w.Client(), Scheme: scheme, Recorder: w.events, Clock: w.clock,
		Releases: w.releases, InstanceTypes: w.types, Resync: 10 * time.Minute,
	})
	r.missing = w.missing
	return func(ctx context.Context) error {
		return w.RecordResult(r.controller().Reconcile(ctx, ctrl.Request{NamespacedName: key}))
	}
}

func (w *testEnv) scenario() *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster:          w.Cluster,
		Start:            w.start,
		OtherControllers: w.capi.pass,
		Advance:          w.clock.Step,
		Ready: func(ctx context.Context) string {
			np := &hyperv1.NodePool{}
			if err := w.Admin().Get(ctx, key, np); err != nil {
				return err.Error()
			}
			if c := condition(np, hyperv1.NodePoolReadyCondition); c.Status != corev1.ConditionTrue {
				return c.Message
			}
			return ""
		},
		Delete: func(ctx context.Context) error { return w.Admin().Delete(ctx, nodepooltest.NodePool()) },
	}
}

// run lets controller and Cluster API take turns until no object changes any more.
func (w *testEnv) run(t testing.TB, pass func(context.Context) error) {
	t.Helper()
	var failed error
	for range 40 {
		before := w.Calls.Writes() + w.capi.acts
		failed = pass(t.Context())
		if err := errors.Join(w.capi.pass(t.Context()), w.CollectGarbage(t.Context())); err != nil {
			t.Fatal(err)
		}
		w.clock.Step(time.Minute)
		if w.Calls.Writes()+w.capi.acts == before {
			return
		}
	}
	t.Fatalf("no end of changes: %v\nlast error %v", w.Calls.Log(w.Calls.Writes()-10), failed)
}

func (w *testEnv) pool(t testing.TB) *hyperv1.NodePool {
	t.Helper()
	np := &hyperv1.NodePool{}
	if err := w.Admin().Get(t.Context(), key, np); err != nil {
		t.Fatal(err)
	}
	return np
}

// change writes an object, as its user or another client does.
func change[T client.Object](t testing.TB, w *testEnv, obj T, how func(T)) {
	t.Helper()
	if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	how(obj)
	obj.SetGeneration(obj.GetGeneration() + 1)
	if err := w.Admin().Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func (w *testEnv) changePool(t testing.TB, how func(*hyperv1.NodePool)) {
	t.Helper()
	change(t, w, nodepooltest.NodePool(), how)
}

func condition(np *hyperv1.NodePool, name string) hyperv1.NodePoolCondition {
	for _, c := range np.Status.Conditions {
		if c.Type == name {
			return c
		}
	}
	return hyperv1.NodePoolCondition{}
}

// expect wants conditions to be "<status> <reason> <a part of the message>"; ""
// for a condition that is not set.
func (w *testEnv) expect(t testing.TB, want map[string]string) {
	t.Helper()
	np := w.pool(t)
	for name, text := range want {
		c := condition(np, name)
		got := strings.TrimSpace(fmt.Sprintf("%s %s", c.Status, c.Reason))
		parts := strings.SplitN(text+"  ", " ", 3)
		if got != strings.TrimSpace(parts[0]+" "+parts[1]) || !strings.Contains(c.Message, strings.TrimSpace(parts[2])) {
			t.Errorf("%s is %s %q, want %s", name, got, c.Message, text)
		}
	}
}

func list[T client.ObjectList](t testing.TB, w *testEnv, l T) T {
	t.Helper()
	if err := w.Admin().List(t.Context(), l, client.InNamespace(plane)); err != nil {
		t.Fatal(err)
	}
	return l
}

func (w *testEnv) deployment(t testing.TB) *clusterv1.MachineDeployment {
	t.Helper()
	mds := list(t, w, &clusterv1.MachineDeploymentList{})
	if len(mds.Items) != 1 {
		t.Fatalf("%d MachineDeployments, want 1", len(mds.Items))
	}
	return &mds.Items[0]
}
