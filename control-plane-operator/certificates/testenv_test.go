package certificates

import (
	"context"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const namespace = testenv.Namespace

var scheme = testenv.Scheme()

// certificateAuthorities are the certificates of a control plane that has nothing else.
type certificateAuthorities struct {
	*testenv.Env
	certs *Certificates
	facts Facts
	// table is the complete one, or a smaller one for long scenarios.
	table table
}

// reachable holds the facts of a control plane with load balancers.
var reachable = Facts{
	API:          target.Host{Name: "api.demo.example.com", Port: 6443},
	Konnectivity: target.Host{Name: "konnectivity.demo.example.com", Port: 443},
	Scheduler:    true,
}

func newCertificateAuthorities(t testing.TB, changes ...func(*hyperv1.HostedControlPlane)) *certificateAuthorities {
	e := &certificateAuthorities{facts: reachable, table: fullTable, Env: testenv.New(t,
		testenv.For(testenv.HostedControlPlane(changes...), &hyperv1.HostedControlPlaneList{}),
		testenv.WithKinds(&corev1.SecretList{}, &corev1.ConfigMapList{}),
		testenv.WithStart(testenv.Start.Add(678)), // certificates have no fractions of a second
	)}
	e.Start = e.start
	e.Restart()
	return e
}

// withOwnName sets the user's name of the API server, which adds a kubeconfig.
func withOwnName(hcp *hyperv1.HostedControlPlane) { hcp.Spec.KubeAPIServerDNSName = "k8s.example.com" }

func (e *certificateAuthorities) start() testenv.Pass {
	e.certs = New(Options{Client: e.Client(), Reader: e.Client(), Scheme: scheme, Recorder: e.Events, Clock: e.Clock})
	e.certs.table = e.table
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
		requeueAfter, _, err := e.certs.Ensure(ctx, hcp, e.facts)
		return ctrl.Result{RequeueAfter: requeueAfter}, err
	})
}

// secret returns the content of that name, from its own Secret or from a shared one.
func (e *certificateAuthorities) secret(name string) *corev1.Secret {
	e.T.Helper()
	s := e.secrets()[name]
	if s == nil {
		e.T.Fatalf("there is no %s", name)
	}
	return s
}

// secrets returns all certificates and other Secrets by name, without the shared ones.
func (e *certificateAuthorities) secrets() map[string]*corev1.Secret {
	e.T.Helper()
	list := &corev1.SecretList{}
	e.Must(e.Admin().List(e.T.Context(), list))
	all := map[string]*corev1.Secret{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	certsecret.Expand(all)
	maps.DeleteFunc(all, func(name string, _ *corev1.Secret) bool { return slices.Contains(sharedSecrets, name) })
	return all
}

// bundle returns the trust bundle of that name, from its own ConfigMap or from the shared one; nil if it does not exist.
func (e *certificateAuthorities) bundle(name string) []byte {
	e.T.Helper()
	cm := &corev1.ConfigMap{}
	e.Must(client.IgnoreNotFound(certsecret.GetBundle(e.T.Context(), e.Admin(), keyOf(name), cm)))
	return []byte(cm.Data[pki.TrustKey])
}

var sharedSecrets = []string{
	certsecret.Authorities, certsecret.KubeAPIServer, certsecret.Etcd, certsecret.ControllerManager, certsecret.Scheduler, certsecret.ControlPlaneOperator,
}

// spoil changes the content of a Secret, or that part of a shared one. Without a function it is deleted.
func (e *certificateAuthorities) spoil(name string, how func(map[string][]byte)) {
	e.T.Helper()
	data := e.secret(name).Data
	live := &corev1.Secret{}
	shared := certsecret.SharedBy(name)
	if err := e.Admin().Get(e.T.Context(), keyOf(shared), live); shared == "" || err != nil {
		e.Must(e.Admin().Get(e.T.Context(), keyOf(name), live))
		if how == nil {
			e.Must(e.Admin().Delete(e.T.Context(), live))
			return
		}
		how(live.Data)
		e.Must(e.Admin().Update(e.T.Context(), live))
		return
	}
	for key := range data {
		delete(live.Data, certsecret.Key(name, key))
	}
	if how != nil {
		how(data)
		certsecret.Put(live.Data, name, data)
	}
	e.Must(e.Admin().Update(e.T.Context(), live))
}

// earlier gives the control plane an authority in its own Secret, as an earlier version created it.
func (e *certificateAuthorities) earlier() {
	e.T.Helper()
	signer, err := pki.NewSigner(names.RootCA, "", e.Clock.Now())
	e.Must(err)
	data, err := signer.Data()
	e.Must(err)
	former := apply.New(e.Admin(), scheme, names.ControlPlaneOperator)
	_, err = former.Apply(e.T.Context(), setOf(e.HCP(), setAuthorities), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.RootCA}, Data: data,
	})
	e.Must(err)
}

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: name} }

func (e *certificateAuthorities) exists(name string) bool {
	e.T.Helper()
	return e.secrets()[name] != nil
}
