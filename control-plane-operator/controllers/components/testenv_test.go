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
type fakeKubelet struct {
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
func newFakeKubelet(t testing.TB, hcp *hyperv1.HostedControlPlane, converters ...managedfields.TypeConverter) *fakeKubelet {
	e := &fakeKubelet{
		t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), sick: map[string]corev1.PodStatus{},
		releases: fakerelease.New(fakerelease.Kubernetes(older, "1.35.4"), fakerelease.Kubernetes(newer, "1.36.3")),
	}
	e.Cluster = crashtest.NewCluster(crashtest.Options{
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
	e.Create(t, hcp)
	return e
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
func (e *fakeKubelet) start() func(context.Context) error {
	e.reconciler = newReconciler(Options{
		Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Admin()), Reader: e.Admin(), Scheme: scheme, Clock: e.clock, Releases: e.releases,
		Certificates: &issuer{apply.New(e.Client(), scheme, "certificates")}, Components: components.ControlPlane,
		OperatorImage: "registry.example.com/control-plane-operator:test",
	})
	controller := e.reconciler.controller()
	return func(ctx context.Context) error {
		list := &hyperv1.HostedControlPlaneList{}
		e.must(e.Admin().List(ctx, list))
		for i := range list.Items {
			if err := e.RecordResult(controller.ReconcileObject(ctx, &list.Items[i])); err != nil {
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
func (e *fakeKubelet) settle() {
	e.t.Helper()
	e.watch(func() {})
}

// watch advances the time and calls the function after each step.
func (e *fakeKubelet) watch(look func()) {
	e.t.Helper()
	pass := e.start()
	for range 40 {
		before := e.Calls.Writes()
		e.must(pass(e.t.Context()))
		look()
		moved := e.kubelet(e.t.Context())
		e.must(e.CollectGarbage(e.t.Context()))
		e.clock.Step(20 * time.Second)
		if !moved && e.Calls.Writes() == before {
			return
		}
		look()
	}
	e.t.Fatal("the environment does not become stable")
}

func (e *fakeKubelet) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *fakeKubelet) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	e.t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	e.must(e.Admin().Get(ctx, e.key("demo"), hcp))
	return hcp
}

func (e *fakeKubelet) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: "clusters-demo", Name: name}
}

func (e *fakeKubelet) change(how func(*hyperv1.HostedControlPlane)) {
	e.t.Helper()
	hcp := e.hcp(e.t.Context())
	how(hcp)
	e.must(e.Admin().Update(e.t.Context(), hcp))
}

func (e *fakeKubelet) release(image string) {
	e.t.Helper()
	e.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ReleaseImage = image })
}

// component returns the ControlPlaneComponent of that name, or nil.
func (e *fakeKubelet) component(name string) *hyperv1.ControlPlaneComponent {
	e.t.Helper()
	c := &hyperv1.ControlPlaneComponent{}
	err := e.Admin().Get(e.t.Context(), e.key(name), c)
	e.must(client.IgnoreNotFound(err))
	if err != nil {
		return nil
	}
	return c
}

// wants expects this condition of the component.
func (e *fakeKubelet) wants(name, condition string, status metav1.ConditionStatus, reason, message string) {
	e.t.Helper()
	c := e.component(name)
	if c == nil {
		e.t.Fatalf("there is no %s", name)
	}
	got := meta.FindStatusCondition(c.Status.Conditions, condition)
	if got == nil || got.Status != status || got.Reason != reason || !strings.Contains(got.Message, message) {
		e.t.Errorf("%s of %s is %+v, want %s %s %q", condition, name, got, status, reason, message)
	}
}

// says expects this condition of the control plane.
func (e *fakeKubelet) says(condition string, status metav1.ConditionStatus, reason, message string) {
	e.t.Helper()
	got := meta.FindStatusCondition(e.hcp(e.t.Context()).Status.Conditions, condition)
	if got == nil || got.Status != status || got.Reason != reason || !strings.Contains(got.Message, message) {
		e.t.Errorf("%s is %+v, want %s %s %q", condition, got, status, reason, message)
	}
}

// ready returns why the desired release is not rolled out yet.
func (e *fakeKubelet) ready(ctx context.Context) string {
	v := e.hcp(ctx).Status.VersionStatus
	if v == nil || len(v.History) == 0 || v.History[0].State != configv1.CompletedUpdate {
		return fmt.Sprintf("%+v", v)
	}
	for _, name := range all {
		c := e.component(name)
		if c == nil || !meta.IsStatusConditionTrue(c.Status.Conditions, hyperv1.ControlPlaneComponentRolloutComplete) {
			return fmt.Sprintf("%s: %+v", name, c)
		}
	}
	return ""
}

// pods returns the pods of a component by the version of their main image.
func (e *fakeKubelet) pods(name string) map[string]int {
	e.t.Helper()
	list := &corev1.PodList{}
	e.must(e.Admin().List(e.t.Context(), list, client.InNamespace("clusters-demo"), client.MatchingLabels{"app": name}))
	versions := map[string]int{}
	for _, pod := range list.Items {
		_, version, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
		versions[version]++
	}
	return versions
}

// revisions returns the templates of a component's pods, which shows whether any was replaced.
func (e *fakeKubelet) revisions(name string) string {
	e.t.Helper()
	list := &corev1.PodList{}
	e.must(e.Admin().List(e.t.Context(), list, client.InNamespace("clusters-demo"), client.MatchingLabels{"app": name}))
	count := map[string]int{}
	for _, pod := range list.Items {
		count[pod.Labels[revision]]++
	}
	return fmt.Sprint(count)
}
