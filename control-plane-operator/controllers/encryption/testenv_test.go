package encryption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
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
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

var scheme = testenv.Scheme(appsv1.AddToScheme)

const namespace = testenv.Namespace

// fakeEtcd is a control plane with two API servers and the Secrets in its etcd.
type fakeEtcd struct {
	*testenv.Env
	// etcd maps the name of each Secret to its encryption key, or "".
	etcd map[string]string
	// refuses maps the name of a Secret to the error for its writes.
	refuses map[string]error
	// lost lists the configurations without a key that etcd's data needs.
	lost []string
}

func newFakeEtcd(t testing.TB) *fakeEtcd {
	hcp := targettest.Env().HCP
	hcp.UID = ""
	hcp.Status.Conditions = []metav1.Condition{{Type: hyperv1.KubeAPIServerAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, LastTransitionTime: metav1.Now()}}
	e := &fakeEtcd{etcd: map[string]string{"a": "", "b": "", "c": ""}, refuses: map[string]error{}, Env: testenv.New(t,
		testenv.WithScheme(scheme),
		testenv.WithSchemas("config/crd"), // other controllers write conditions, too
		testenv.For(hcp, &hyperv1.HostedControlPlaneList{}),
		testenv.WithKinds(&appsv1.DeploymentList{}, &corev1.PodList{}, &corev1.SecretList{}),
		testenv.WithStatus(&appsv1.Deployment{}, &corev1.Pod{}),
		testenv.WithObjects(testenv.Secret(certsecret.ControlPlaneOperator, certsecret.Key(names.ControlPlaneOperatorKubeconfig, names.AdminKubeconfigFile), someKubeconfig)),
	)}
	e.Start, e.Others = e.start, e.others
	e.ChangeHCP(func(changed *hyperv1.HostedControlPlane) { changed.Status = hcp.Status })
	e.copyOf("one")
	e.copyOf("two")
	e.copyOf("three")
	return e
}

// someKubeconfig is a kubeconfig of an unreachable server: the hosted cluster is a fake.
var someKubeconfig = testenv.Kubeconfig("https://127.0.0.1:1/", "", "a")

func bytesOf(key string) string { return (key + strings.Repeat("-", 32))[:32] }

// copyOf is the copy of the user's Secret with that key.
func (e *fakeEtcd) copyOf(key string) {
	s := testenv.Secret("copied-"+key, "key", bytesOf(key))
	s.Annotations = map[string]string{hyperv1.CopiedFromAnnotation: key}
	e.Create(s)
}

// want sets the key in the spec.
func (e *fakeEtcd) want(key string) {
	e.T.Helper()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "copied-" + key}}}
	})
}

// start restarts the controller and returns a function that reconciles the control plane.
func (e *fakeEtcd) start() testenv.Pass {
	r := New(Options{Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Reader: e.Client(), Clock: e.Clock, Open: func(*rest.Config) (client.Client, error) { return e.hosted(), nil }})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, r.ReconcileObject)
}

// hosted is a client of the hosted cluster. Each write encrypts the Secret with the API servers' key.
func (e *fakeEtcd) hosted() client.Client {
	var objs []client.Object
	for name := range e.etcd {
		objs = append(objs, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).Build()
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if data, err := patch.Data(obj); err != nil || string(data) != "{}" {
				e.T.Errorf("Secret %s is changed: %s, %v", obj.GetName(), data, err)
			}
			if err := e.refuses[obj.GetName()]; err != nil {
				return err
			}
			e.write(ctx, obj.GetName())
			return nil
		},
	})
}

// write encrypts a Secret as the API servers do, which may have different keys.
func (e *fakeEtcd) write(ctx context.Context, name string) {
	e.T.Helper()
	pods := e.pods(ctx)
	e.etcd[name] = strings.Fields(pods[len(name)%len(pods)].Annotations["keys"] + " -")[0]
}

func (e *fakeEtcd) pods(ctx context.Context) []corev1.Pod {
	e.T.Helper()
	list := &corev1.PodList{}
	e.Must(e.Admin().List(ctx, list))
	return list.Items
}

// others simulates the components controller, which follows the status, and the kubelets: one API server is replaced at
// a time.
func (e *fakeEtcd) others(ctx context.Context) error {
	hcp := e.HCP()
	if hcp.Status.SecretEncryptionRecord == nil && hcp.Spec.SecretEncryption != nil {
		return nil
	}
	env := targettest.Env()
	env.HCP = hcp
	list := &corev1.SecretList{}
	e.Must(e.Admin().List(ctx, list))
	for i := range list.Items {
		env.Secrets[list.Items[i].Name] = &list.Items[i]
	}
	objs, err := component.Render(kubeapiserver.Component, env)
	if err != nil {
		return nil // it stays as it is
	}
	for _, obj := range objs {
		if s, ok := obj.(*corev1.Secret); ok {
			e.Put(s)
			e.readable(s)
		}
	}
	e.replace(ctx, objs[len(objs)-1].(*appsv1.Deployment))
	return nil
}

// readable records a configuration that cannot read etcd's data.
func (e *fakeEtcd) readable(config *corev1.Secret) {
	keys := keysOf(e.T, config)
	for name, key := range e.etcd {
		if key != "" && key != "-" && !slices.Contains(keys, key) {
			e.lost = append(e.lost, fmt.Sprintf("Secret %s is encrypted with %s, and the configuration has %v", name, key, keys))
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
func (e *fakeEtcd) replace(ctx context.Context, d *appsv1.Deployment) {
	e.T.Helper()
	d.Spec.Replicas = ptr.To[int32](2)
	template := d.Spec.Template.Annotations
	was := &appsv1.Deployment{}
	if err := e.Admin().Get(ctx, client.ObjectKeyFromObject(d), was); err == nil && template[kubeapiserver.EncryptionAnnotation] != was.Spec.Template.Annotations[kubeapiserver.EncryptionAnnotation] {
		was.Generation++
		was.Spec = d.Spec
		e.Must(e.Admin().Update(ctx, was))
	} else if err != nil {
		d.Generation = 1
		e.Must(e.Admin().Create(ctx, d))
		was = d
	}
	config := &corev1.Secret{}
	keys := "-"
	if err := e.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: kubeapiserver.EncryptionSecret}, config); err == nil {
		keys = strings.Join(keysOf(e.T, config), " ")
	}
	fresh := int32(0)
	replaced := false
	for i := range 2 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("kube-apiserver-%d", i), Labels: map[string]string{"app": names.KubeAPIServer}}}
		annotations := map[string]string{"keys": keys, kubeapiserver.EncryptionAnnotation: template[kubeapiserver.EncryptionAnnotation]}
		err := e.Admin().Get(ctx, client.ObjectKeyFromObject(pod), pod)
		switch {
		case err != nil:
			pod.Annotations = annotations
			e.Must(e.Admin().Create(ctx, pod))
		case !replaced && pod.Annotations[kubeapiserver.EncryptionAnnotation] != annotations[kubeapiserver.EncryptionAnnotation]:
			pod.Annotations, replaced = annotations, true
			e.Must(e.Admin().Update(ctx, pod))
		}
		if pod.Annotations[kubeapiserver.EncryptionAnnotation] == annotations[kubeapiserver.EncryptionAnnotation] {
			fresh++
		}
	}
	e.write(ctx, "c") // a client writes all the time
	was.Status = appsv1.DeploymentStatus{ObservedGeneration: was.Generation, Replicas: 2, UpdatedReplicas: fresh, AvailableReplicas: 2}
	e.Must(e.Admin().Status().Update(ctx, was))
}

// settle reconciles until the condition is True, and returns the reasons in between.
func (e *fakeEtcd) settle() []string {
	e.T.Helper()
	var reasons []string
	for range 200 {
		e.Once()
		e.Must(e.others(e.T.Context()))
		e.Clock.Step(20 * time.Second)
		c := meta.FindStatusCondition(e.HCP().Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate)
		if c.Status == metav1.ConditionTrue {
			return reasons
		}
		if len(reasons) == 0 || reasons[len(reasons)-1] != c.Reason {
			reasons = append(reasons, c.Reason)
		}
	}
	e.T.Fatalf("it does not come to rest: %v, %+v", reasons, e.HCP().Status)
	return nil
}

// encrypted fails the test unless everything is encrypted with that key and the configuration has no other.
func (e *fakeEtcd) encrypted(with string) {
	e.T.Helper()
	for name, key := range e.etcd {
		if key != with {
			e.T.Errorf("Secret %s is encrypted with %q, want %s", name, key, with)
		}
	}
	config := testenv.Named(e.Env, kubeapiserver.EncryptionSecret, &corev1.Secret{})
	if keys := keysOf(e.T, config); !slices.Equal(keys, []string{with}) {
		e.T.Errorf("the configuration has %v", keys)
	}
	if len(e.lost) > 0 {
		e.T.Error(e.lost[0])
	}
}
