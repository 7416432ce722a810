package components

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

var scheme = testenv.Scheme(appsv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, routev1.Install)

const (
	older = "registry.example.com/release:1.35.4"
	newer = "registry.example.com/release:1.36.3"
)

// all are the components of every cluster with node pools, in the order of an upgrade.
var all = []string{names.Etcd, names.KubeAPIServer, names.KubeControllerManager, names.KubeScheduler}

// fakeKubelet is a management cluster with pods that become ready unless they are sick.
type fakeKubelet struct {
	*testenv.Env
	releases *fakerelease.Registry
	// sick is the status of new pods by component. These pods do not become ready.
	sick       map[string]corev1.PodStatus
	reconciler *Reconciler
}

// newFakeKubelet uses the schemas of CRDs on request: only scenarios in which other controllers write the same status need them.
func newFakeKubelet(t testing.TB, hcp *hyperv1.HostedControlPlane, options ...testenv.Option) *fakeKubelet {
	e := &fakeKubelet{
		sick:     map[string]corev1.PodStatus{},
		releases: fakerelease.New(fakerelease.Kubernetes(older, "1.35.4"), fakerelease.Kubernetes(newer, "1.36.3")),
		Env: testenv.New(t, append(options,
			testenv.WithScheme(scheme),
			testenv.For(hcp, &hyperv1.HostedControlPlaneList{}),
			testenv.WithKinds(
				&hyperv1.ControlPlaneComponentList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.PodList{},
				&corev1.ServiceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{},
			),
			testenv.WithStatus(&hyperv1.ControlPlaneComponent{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &corev1.Pod{}),
			testenv.WithEventIndex(),
			testenv.WithObjects(clusterAPI()),
		)...),
	}
	e.Start, e.Others = e.start, e.kubelet
	return e
}

// clusterAPI is the Deployment that the hypershift-operator makes while there are node pools. Its pods do not matter here.
func clusterAPI() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: testenv.In(testenv.Namespace, names.ClusterAPI), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)}}
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
func (e *fakeKubelet) start() testenv.Pass {
	e.reconciler = newReconciler(Options{
		Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Admin()), Reader: e.Admin(), Scheme: scheme, Clock: e.Clock, Releases: e.releases,
		Certificates: &issuer{apply.New(e.Client(), scheme, "certificates")}, Components: components.ControlPlane,
		OperatorImage: "registry.example.com/control-plane-operator:test",
	})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, e.reconciler.controller().ReconcileObject)
}

// issuer creates fake certificates that contain only their purpose.
type issuer struct{ *apply.Applier }

// certificatesExpire is when the first of the fake certificates expires.
var certificatesExpire = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func (i *issuer) FirstExpiry(context.Context, *hyperv1.HostedControlPlane) (time.Time, error) {
	return certificatesExpire, nil
}

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

func (e *fakeKubelet) release(image string) {
	e.T.Helper()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ReleaseImage = image })
}

// componentNamed returns the ControlPlaneComponent of that name, which may not exist yet.
func componentNamed(name string) *hyperv1.ControlPlaneComponent {
	return &hyperv1.ControlPlaneComponent{ObjectMeta: testenv.In(testenv.Namespace, name)}
}

// ready returns why the desired release is not rolled out yet.
func (e *fakeKubelet) ready(context.Context) string {
	v := e.HCP().Status.VersionStatus
	if v == nil || len(v.History) == 0 || v.History[0].State != configv1.CompletedUpdate {
		return fmt.Sprintf("%+v", v)
	}
	for _, name := range all {
		c := componentNamed(name)
		if !e.Exists(c) || !meta.IsStatusConditionTrue(c.Status.Conditions, hyperv1.ControlPlaneComponentRolloutComplete) {
			return fmt.Sprintf("%s: %+v", name, c.Status)
		}
	}
	return ""
}

// pods returns the pods with the container of a component by the version of its image.
func (e *fakeKubelet) pods(name string) map[string]int {
	e.T.Helper()
	versions := map[string]int{}
	for _, pod := range e.podsWith(name) {
		for _, c := range pod.Spec.Containers {
			if c.Name == name {
				_, version, _ := strings.Cut(c.Image, ":")
				versions[version]++
			}
		}
	}
	return versions
}

// podsWith returns the pods in which a component runs.
func (e *fakeKubelet) podsWith(name string) []corev1.Pod {
	e.T.Helper()
	if name == names.KubeScheduler {
		name = names.KubeControllerManager
	}
	return testenv.Listed(e.Env, &corev1.PodList{}, client.MatchingLabels{"app": name}).Items
}

// revisions returns the templates of a component's pods, which shows whether any was replaced.
func (e *fakeKubelet) revisions(name string) string {
	e.T.Helper()
	count := map[string]int{}
	for _, pod := range e.podsWith(name) {
		count[pod.Labels[revision]]++
	}
	return fmt.Sprint(count)
}
