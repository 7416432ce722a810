package signingkeys

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/apiservers"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubecontrollermanager"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const namespace = testenv.Namespace

// controlPlane is a control plane with two API servers and a kube-controller-manager, and with a hosted cluster.
type controlPlane struct {
	*testenv.Env
	state *signingkeys.State
	// loaded are the keys of each API server, by its pod.
	loaded map[string]Loaded
	// fails are API servers that do not respond.
	fails map[string]error
	// refuses is the answer of AWS, and asked counts its calls.
	refuses error
	asked   int
	// tokens are objects of the hosted cluster, and forbidden is set while they may not be read. searches counts the lists.
	tokens    []client.Object
	forbidden error
	searches  int
}

func newKey(t testing.TB) signingkeys.Key {
	t.Helper()
	private, _, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := signingkeys.NewKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newControlPlane(t testing.TB) *controlPlane {
	e := &controlPlane{loaded: map[string]Loaded{}, fails: map[string]error{}, Env: testenv.New(t,
		testenv.WithSchemas("config/crd"), // other controllers write conditions, too
		testenv.For(testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Platform.AWS.Region, hcp.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = testenv.Region, "arn:aws:iam::222222222222:role/demo-cpo"
		}), &hyperv1.HostedControlPlaneList{}),
		testenv.WithKinds(&corev1.PodList{}, &corev1.SecretList{}),
		testenv.WithStatus(&corev1.Pod{}),
		testenv.WithObjects(testenv.Secret(certsecret.ControlPlaneOperator, certsecret.Key(names.ControlPlaneOperatorKubeconfig, names.AdminKubeconfigFile), testenv.Kubeconfig("https://127.0.0.1:1/", "", "a"))),
	)}
	e.Start, e.Others = e.start, func(context.Context) error { return nil }
	e.state = signingkeys.New(newKey(t), signingkeys.Facts{TokenLife: signingkeys.MaxTokenLife})
	e.store()
	for _, name := range []string{"a", "b"} {
		e.pod(names.KubeAPIServer, name, "10.0.0."+map[string]string{"a": "1", "b": "2"}[name])
		e.load(name)
	}
	e.pod(names.KubeControllerManager, "kcm", "10.0.0.3")
	e.loadControllerManager()
	return e
}

func (e *controlPlane) pod(component, name, address string) {
	e.T.Helper()
	pod := &corev1.Pod{ObjectMeta: testenv.In(namespace, name), Spec: corev1.PodSpec{NodeName: "node"}}
	pod.Labels = map[string]string{"app": component}
	e.Create(pod)
	e.Change(pod, func() { pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address} })
}

// store writes the Secret, as the hypershift-operator does.
func (e *controlPlane) store() {
	e.T.Helper()
	secret := &corev1.Secret{ObjectMeta: testenv.In(namespace, names.ServiceAccountSigningKey), Data: e.state.Data()}
	e.Put(secret)
}

// load makes an API server start with the Secret.
func (e *controlPlane) load(name string) {
	e.T.Helper()
	ids, err := webidentity.KeyIDs(e.state.PublicKeys())
	e.Must(err)
	e.loaded[name] = Loaded{Accepts: ids, Signs: e.state.Signing.ID}
}

func (e *controlPlane) loadControllerManager() {
	e.T.Helper()
	pod := &corev1.Pod{ObjectMeta: testenv.In(namespace, "kcm")}
	e.Change(pod, func() {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kubecontrollermanager.SigningKeyAnnotation, e.state.Signing.ID)
	})
}

// publish adds a next key, and replace makes it sign.
func (e *controlPlane) publish() {
	next := newKey(e.T)
	e.state.Next = &next
	e.store()
}

func (e *controlPlane) replace() {
	e.state.Old = append(e.state.Old, signingkeys.Old{ID: e.state.Signing.ID, Public: e.state.Signing.Public, Life: time.Hour})
	e.state.Signing, e.state.Next = *e.state.Next, nil
	e.store()
}

// start restarts the controller and returns a function that reconciles the control plane.
func (e *controlPlane) start() testenv.Pass {
	c := New(Options{
		Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Reader: e.Client(), Clock: e.Clock,
		Connect: func(_ context.Context, _ *rest.Config, server apiservers.Server) (Loaded, error) {
			if server.Name != "kube-apiserver."+namespace+".svc" {
				return Loaded{}, errors.New("certificate is for another name")
			}
			return e.loaded[server.Pod], e.fails[server.Pod]
		},
		Open: func(*rest.Config) (client.Client, error) { return e.hosted(), nil },
		TakeRole: func(_ context.Context, region, issuerURL, roleARN string) error {
			if region == "" || issuerURL == "" || roleARN == "" {
				return errors.New("no role")
			}
			e.asked++
			return e.refuses
		},
	})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, c.ReconcileObject)
}

// hosted is a client of the hosted cluster.
func (e *controlPlane) hosted() client.Client {
	c := fake.NewClientBuilder().WithScheme(testenv.Scheme()).WithObjects(e.tokens...).WithIndex(&corev1.Secret{}, "type", func(obj client.Object) []string {
		return []string{string(obj.(*corev1.Secret).Type)}
	}).Build()
	return interceptor.NewClient(c, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		e.searches++
		if e.forbidden != nil {
			return e.forbidden
		}
		return c.List(ctx, list, opts...)
	}})
}

func (e *controlPlane) report() *hyperv1.ServiceAccountKeysStatus {
	e.T.Helper()
	return e.HCP().Status.ServiceAccountKeys
}
