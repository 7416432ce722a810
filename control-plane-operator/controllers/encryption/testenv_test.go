package encryption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

func init() { ctrl.SetLogger(logr.Discard()) }

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, hyperv1.AddToScheme} {
		utilruntime.Must(add(s))
	}
	return s
}()

const namespace = "clusters-demo"

// testEnv is the environment of these tests: a control plane with two API servers and the Secrets in its etcd.
type testEnv struct {
	*crashtest.Cluster
	t     testing.TB
	clock *clocktesting.FakeClock
	// etcd maps the name of each Secret to its encryption key, or "".
	etcd map[string]string
	// refuses maps the name of a Secret to the error for its writes.
	refuses map[string]error
	// lost lists the configurations without a key that etcd's data needs.
	lost []string
}

func newTestEnv(t testing.TB) *testEnv {
	w := &testEnv{
		t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		etcd: map[string]string{"a": "", "b": "", "c": ""}, refuses: map[string]error{},
	}
	w.Cluster = crashtest.NewCluster(crashtest.Options{
		Converters: []managedfields.TypeConverter{crashtest.Converter("../../../config/crd")}, // other controllers write conditions, too
		Scheme:     scheme,
		Kinds:      []client.ObjectList{&hyperv1.HostedControlPlaneList{}, &appsv1.DeploymentList{}, &corev1.PodList{}, &corev1.SecretList{}},
		WithStatus: []client.Object{&hyperv1.HostedControlPlane{}, &appsv1.Deployment{}, &corev1.Pod{}},
	})
	hcp := targettest.Env().HCP
	hcp.UID = ""
	hcp.Status.Conditions = []metav1.Condition{{Type: hyperv1.KubeAPIServerAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, LastTransitionTime: metav1.Now()}}
	status := hcp.Status
	w.Create(t, hcp, secret(certsecret.ControlPlaneOperator, map[string]string{certsecret.Key(names.ControlPlaneOperatorKubeconfig, names.AdminKubeconfigFile): someKubeconfig}))
	hcp = w.hcp(t.Context())
	hcp.Status = status
	w.must(w.Admin().Status().Update(t.Context(), hcp))
	w.copyOf("one")
	w.copyOf("two")
	w.copyOf("three")
	return w
}

// someKubeconfig is a kubeconfig of an unreachable server: the hosted cluster is a fake.
const someKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1/"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
users: [{name: a, user: {token: a}}]
`

func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func bytesOf(key string) string { return (key + strings.Repeat("-", 32))[:32] }

// copyOf is the copy of the user's Secret with that key.
func (w *testEnv) copyOf(key string) {
	s := secret("copied-"+key, map[string]string{"key": bytesOf(key)})
	s.Annotations = map[string]string{hyperv1.CopiedFromAnnotation: key}
	w.Create(w.t, s)
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
	w.must(w.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, hcp))
	return hcp
}

// want sets the key in the spec.
func (w *testEnv) want(key string) {
	w.t.Helper()
	hcp := w.hcp(context.Background())
	hcp.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "copied-" + key}}}
	hcp.Generation++
	w.must(w.Admin().Update(context.Background(), hcp))
}

// start restarts the controller and returns a function that reconciles the control plane.
func (w *testEnv) start() func(context.Context) error {
	r := New(Options{Client: w.Client(), Status: controlplanestatus.New(w.Client(), w.Client()), Reader: w.Client(), Clock: w.clock, Open: func(*rest.Config) (client.Client, error) { return w.hosted(), nil }})
	return func(ctx context.Context) error {
		return w.RecordResult(r.ReconcileObject(ctx, w.hcp(ctx)))
	}
}

// hosted is a client of the hosted cluster. Each write encrypts the Secret with the API servers' key.
func (w *testEnv) hosted() client.Client {
	var objs []client.Object
	for name := range w.etcd {
		objs = append(objs, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).Build()
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if data, err := patch.Data(obj); err != nil || string(data) != "{}" {
				w.t.Errorf("Secret %s is changed: %s, %v", obj.GetName(), data, err)
			}
			if err := w.refuses[obj.GetName()]; err != nil {
				return err
			}
			w.write(ctx, obj.GetName())
			return nil
		},
	})
}

// write encrypts a Secret as the API servers do, which may have different keys.
func (w *testEnv) write(ctx context.Context, name string) {
	w.t.Helper()
	pods := w.pods(ctx)
	w.etcd[name] = strings.Fields(pods[len(name)%len(pods)].Annotations["keys"] + " -")[0]
}

func (w *testEnv) pods(ctx context.Context) []corev1.Pod {
	w.t.Helper()
	list := &corev1.PodList{}
	w.must(w.Admin().List(ctx, list))
	return list.Items
}

// others simulates the components controller, which follows the status, and the kubelets: one API server is replaced at
// a time.
func (w *testEnv) others(ctx context.Context) error {
	hcp := w.hcp(ctx)
	if hcp.Status.SecretEncryptionRecord == nil && hcp.Spec.SecretEncryption != nil {
		return nil
	}
	env := targettest.Env()
	env.HCP = hcp
	list := &corev1.SecretList{}
	w.must(w.Admin().List(ctx, list))
	for i := range list.Items {
		env.Secrets[list.Items[i].Name] = &list.Items[i]
	}
	objs, err := component.Render(kubeapiserver.Component, env)
	if err != nil {
		return nil // it stays as it is
	}
	for _, obj := range objs {
		if s, ok := obj.(*corev1.Secret); ok {
			w.apply(ctx, s)
			w.readable(s)
		}
	}
	w.replace(ctx, objs[len(objs)-1].(*appsv1.Deployment))
	return nil
}

func (w *testEnv) apply(ctx context.Context, obj client.Object) {
	w.t.Helper()
	was := obj.DeepCopyObject().(client.Object)
	if err := w.Admin().Get(ctx, client.ObjectKeyFromObject(obj), was); err != nil {
		w.must(w.Admin().Create(ctx, obj))
		return
	}
	obj.SetResourceVersion(was.GetResourceVersion())
	obj.SetUID(was.GetUID())
	obj.SetGeneration(was.GetGeneration())
	w.must(w.Admin().Update(ctx, obj))
}

// readable records a configuration that cannot read etcd's data.
func (w *testEnv) readable(config *corev1.Secret) {
	keys := keysOf(w.t, config)
	for name, key := range w.etcd {
		if key != "" && key != "-" && !slices.Contains(keys, key) {
			w.lost = append(w.lost, fmt.Sprintf("Secret %s is encrypted with %s, and the configuration has %v", name, key, keys))
		}
	}
}

// keysOf returns the names of the keys, or "-" for a configuration without encryption.
func keysOf(t testing.TB, config *corev1.Secret) []string {
	t.Helper()
	c, err := kubeapiserver.ConfiguredKeys(config)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	if c.InTheClear {
		keys = append(keys, "-")
	}
	for _, key := range c.Keys {
		for _, name := range []string{"one", "two", "three"} {
			if secretencryption.Fingerprint([]byte(bytesOf(name))) == key.Fingerprint {
				keys = append(keys, name)
			}
		}
	}
	return keys
}

// replace adds a pod of the Deployment's current template.
func (w *testEnv) replace(ctx context.Context, d *appsv1.Deployment) {
	w.t.Helper()
	d.Spec.Replicas = ptr.To[int32](2)
	template := d.Spec.Template.Annotations
	was := &appsv1.Deployment{}
	if err := w.Admin().Get(ctx, client.ObjectKeyFromObject(d), was); err == nil && template[kubeapiserver.EncryptionAnnotation] != was.Spec.Template.Annotations[kubeapiserver.EncryptionAnnotation] {
		was.Generation++
		was.Spec = d.Spec
		w.must(w.Admin().Update(ctx, was))
	} else if err != nil {
		d.Generation = 1
		w.must(w.Admin().Create(ctx, d))
		was = d
	}
	config := &corev1.Secret{}
	keys := "-"
	if err := w.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: kubeapiserver.EncryptionSecret}, config); err == nil {
		keys = strings.Join(keysOf(w.t, config), " ")
	}
	fresh := int32(0)
	replaced := false
	for i := range 2 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("kube-apiserver-%d", i), Labels: map[string]string{"app": names.KubeAPIServer}}}
		annotations := map[string]string{"keys": keys, kubeapiserver.EncryptionAnnotation: template[kubeapiserver.EncryptionAnnotation]}
		err := w.Admin().Get(ctx, client.ObjectKeyFromObject(pod), pod)
		switch {
		case err != nil:
			pod.Annotations = annotations
			w.must(w.Admin().Create(ctx, pod))
		case !replaced && pod.Annotations[kubeapiserver.EncryptionAnnotation] != annotations[kubeapiserver.EncryptionAnnotation]:
			pod.Annotations, replaced = annotations, true
			w.must(w.Admin().Update(ctx, pod))
		}
		if pod.Annotations[kubeapiserver.EncryptionAnnotation] == annotations[kubeapiserver.EncryptionAnnotation] {
			fresh++
		}
	}
	w.write(ctx, "c") // a client writes all the time
	was.Status = appsv1.DeploymentStatus{ObservedGeneration: was.Generation, Replicas: 2, UpdatedReplicas: fresh, AvailableReplicas: 2}
	w.must(w.Admin().Status().Update(ctx, was))
}

// settle reconciles until the condition is True, and returns the reasons in between.
func (w *testEnv) settle(pass func(context.Context) error) []string {
	w.t.Helper()
	var reasons []string
	for range 200 {
		w.must(pass(w.t.Context()))
		w.must(w.others(w.t.Context()))
		w.clock.Step(20 * time.Second)
		c := meta.FindStatusCondition(w.hcp(w.t.Context()).Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate)
		if c.Status == metav1.ConditionTrue {
			return reasons
		}
		if len(reasons) == 0 || reasons[len(reasons)-1] != c.Reason {
			reasons = append(reasons, c.Reason)
		}
	}
	w.t.Fatalf("it does not come to rest: %v, %+v", reasons, w.hcp(w.t.Context()).Status)
	return nil
}

// encrypted fails the test unless everything is encrypted with that key and the configuration has no other.
func (w *testEnv) encrypted(with string) {
	w.t.Helper()
	for name, key := range w.etcd {
		if key != with {
			w.t.Errorf("Secret %s is encrypted with %q, want %s", name, key, with)
		}
	}
	config := &corev1.Secret{}
	w.must(w.Admin().Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: kubeapiserver.EncryptionSecret}, config))
	if keys := keysOf(w.t, config); !slices.Equal(keys, []string{with}) {
		w.t.Errorf("the configuration has %v", keys)
	}
	if len(w.lost) > 0 {
		w.t.Error(w.lost[0])
	}
}
