package components

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

func init() { ctrl.SetLogger(logr.Discard()) }

// scheme has only the kinds of these tests: the fake API server iterates over all of them for every write.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, hyperv1.AddToScheme, routev1.Install,
	} {
		utilruntime.Must(add(s))
	}
	return s
}()

const (
	older = "registry.example.com/release:1.35.4"
	newer = "registry.example.com/release:1.36.3"
)

// all are the components of every cluster in the order of an upgrade.
var all = []string{names.Etcd, names.KubeAPIServer, names.KubeControllerManager, names.KubeScheduler}

// testEnv is the environment of these tests: a management cluster with pods that become ready unless they are sick.
type testEnv struct {
	*crashtest.Cluster
	t        testing.TB
	clock    *clocktesting.FakeClock
	releases *fakerelease.Registry
	// sick is the status of new pods by component. These pods do not become ready.
	sick       map[string]corev1.PodStatus
	reconciler *Reconciler
}

// newTestEnv uses the schemas of the type converters: only scenarios in which other controllers write the same status need
// one.
func newTestEnv(t testing.TB, hcp *hyperv1.HostedControlPlane, converters ...managedfields.TypeConverter) *testEnv {
	w := &testEnv{
		t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), sick: map[string]corev1.PodStatus{},
		releases: fakerelease.New(fakerelease.Kubernetes(older, "1.35.4"), fakerelease.Kubernetes(newer, "1.36.3")),
	}
	w.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme:     scheme,
		Converters: converters,
		Kinds: []client.ObjectList{
			&hyperv1.HostedControlPlaneList{}, &hyperv1.ControlPlaneComponentList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.PodList{},
			&corev1.ServiceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{},
		},
		WithStatus: []client.Object{&hyperv1.HostedControlPlane{}, &hyperv1.ControlPlaneComponent{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &corev1.Pod{}},
		Index: func(b *fake.ClientBuilder) {
			b.WithIndex(&corev1.Event{}, "involvedObject.uid", func(obj client.Object) []string {
				return []string{string(obj.(*corev1.Event).InvolvedObject.UID)}
			})
		},
	})
	w.Create(t, hcp)
	return w
}

// controlPlane runs the older release.
func controlPlane(policy hyperv1.AvailabilityPolicy) *hyperv1.HostedControlPlane {
	hcp := targettest.Env().HCP
	hcp.UID, hcp.Status = "", hyperv1.HostedControlPlaneStatus{}
	hcp.Spec.ReleaseImage = older
	hcp.Spec.PullSecret.Name = ""
	hcp.Spec.ControllerAvailabilityPolicy = policy
	return hcp
}

// start restarts the controller and returns a function that reconciles all control planes.
func (w *testEnv) start() func(context.Context) error {
	w.reconciler = newReconciler(Options{
		Client: w.Client(), Status: controlplanestatus.New(w.Client(), w.Admin()), Reader: w.Admin(), Scheme: scheme, Clock: w.clock, Releases: w.releases,
		Certificates: &issuer{apply.New(w.Client(), scheme, "certificates")}, Components: components.ControlPlane,
		OperatorImage: "registry.example.com/control-plane-operator:test",
	})
	controller := w.reconciler.controller()
	return func(ctx context.Context) error {
		list := &hyperv1.HostedControlPlaneList{}
		w.must(w.Admin().List(ctx, list))
		for i := range list.Items {
			if err := w.RecordResult(controller.ReconcileObject(ctx, &list.Items[i])); err != nil {
				return err
			}
		}
		return nil
	}
}

// issuer creates fake certificates that contain only their purpose.
type issuer struct{ *apply.Applier }

func (i *issuer) Ensure(ctx context.Context, hcp *hyperv1.HostedControlPlane, facts certificates.Facts) (time.Duration, bool, error) {
	objs := []client.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: hcp.Namespace, Name: names.KubeletServingCA}, Data: map[string]string{pki.TrustKey: "those who sign for kubelets"},
	}}
	for _, name := range []string{names.SchedulerKubeconfig, names.ControllerManagerKubeconfig, names.APIServerCertificate, names.EtcdServerCertificate} {
		objs = append(objs, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: hcp.Namespace, Name: name},
			Data:       map[string][]byte{"tls.crt": []byte(name + " " + facts.API.Name)},
		})
	}
	set := apply.Set{Name: "certificates", Namespace: hcp.Namespace, Parent: hcp, Kinds: []client.ObjectList{&corev1.SecretList{}, &corev1.ConfigMapList{}}}
	changed, err := i.Apply(ctx, set, objs...)
	return time.Hour, changed, err
}

// settle advances the time until there are no more changes.
func (w *testEnv) settle() {
	w.t.Helper()
	w.watch(func() {})
}

// watch advances the time and calls the function after each step.
func (w *testEnv) watch(look func()) {
	w.t.Helper()
	pass := w.start()
	for range 40 {
		before := w.Calls.Writes()
		w.must(pass(w.t.Context()))
		look()
		moved := w.kubelet(w.t.Context())
		w.must(w.CollectGarbage(w.t.Context()))
		w.clock.Step(20 * time.Second)
		if !moved && w.Calls.Writes() == before {
			return
		}
		look()
	}
	w.t.Fatal("the environment does not become stable")
}

func (w *testEnv) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *testEnv) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	w.t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	w.must(w.Admin().Get(ctx, w.key("demo"), hcp))
	return hcp
}

func (w *testEnv) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: "clusters-demo", Name: name}
}

func (w *testEnv) change(how func(*hyperv1.HostedControlPlane)) {
	w.t.Helper()
	hcp := w.hcp(w.t.Context())
	how(hcp)
	w.must(w.Admin().Update(w.t.Context(), hcp))
}

func (w *testEnv) release(image string) {
	w.t.Helper()
	w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ReleaseImage = image })
}

// component returns the ControlPlaneComponent of that name, or nil.
func (w *testEnv) component(name string) *hyperv1.ControlPlaneComponent {
	w.t.Helper()
	c := &hyperv1.ControlPlaneComponent{}
	err := w.Admin().Get(w.t.Context(), w.key(name), c)
	w.must(client.IgnoreNotFound(err))
	if err != nil {
		return nil
	}
	return c
}

// wants expects this condition of the component.
func (w *testEnv) wants(name, condition string, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	c := w.component(name)
	if c == nil {
		w.t.Fatalf("there is no %s", name)
	}
	got := meta.FindStatusCondition(c.Status.Conditions, condition)
	if got == nil || got.Status != status || got.Reason != reason || !strings.Contains(got.Message, message) {
		w.t.Errorf("%s of %s is %+v, want %s %s %q", condition, name, got, status, reason, message)
	}
}

// says expects this condition of the control plane.
func (w *testEnv) says(condition string, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	got := meta.FindStatusCondition(w.hcp(w.t.Context()).Status.Conditions, condition)
	if got == nil || got.Status != status || got.Reason != reason || !strings.Contains(got.Message, message) {
		w.t.Errorf("%s is %+v, want %s %s %q", condition, got, status, reason, message)
	}
}

// ready returns why the desired release is not rolled out yet.
func (w *testEnv) ready(ctx context.Context) string {
	v := w.hcp(ctx).Status.VersionStatus
	if v == nil || len(v.History) == 0 || v.History[0].State != configv1.CompletedUpdate {
		return fmt.Sprintf("%+v", v)
	}
	for _, name := range all {
		c := w.component(name)
		if c == nil || !meta.IsStatusConditionTrue(c.Status.Conditions, hyperv1.ControlPlaneComponentRolloutComplete) {
			return fmt.Sprintf("%s: %+v", name, c)
		}
	}
	return ""
}

// pods returns the pods of a component by the version of their main image.
func (w *testEnv) pods(name string) map[string]int {
	w.t.Helper()
	list := &corev1.PodList{}
	w.must(w.Admin().List(w.t.Context(), list, client.InNamespace("clusters-demo"), client.MatchingLabels{"app": name}))
	versions := map[string]int{}
	for _, pod := range list.Items {
		_, version, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
		versions[version]++
	}
	return versions
}

// revisions returns the templates of a component's pods, which shows whether any was replaced.
func (w *testEnv) revisions(name string) string {
	w.t.Helper()
	list := &corev1.PodList{}
	w.must(w.Admin().List(w.t.Context(), list, client.InNamespace("clusters-demo"), client.MatchingLabels{"app": name}))
	count := map[string]int{}
	for _, pod := range list.Items {
		count[pod.Labels[revision]]++
	}
	return fmt.Sprint(count)
}
