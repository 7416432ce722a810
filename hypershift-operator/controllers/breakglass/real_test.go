package breakglass

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/rbac"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

var realScheme = testenv.Scheme(certificatesv1.AddToScheme, rbacv1.AddToScheme)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func as(t *testing.T, config *rest.Config, user string) client.Client {
	t.Helper()
	with := rest.CopyConfig(config)
	with.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := client.New(with, client.Options{Scheme: realScheme})
	must(t, err)
	return c
}

// grant binds a ClusterRole to a user of the same name, in a namespace or, if it is empty, everywhere.
func grant(t *testing.T, admin client.Client, role *rbacv1.ClusterRole, user, ns string) {
	t.Helper()
	role.Name = user
	must(t, admin.Create(t.Context(), role))
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	var binding client.Object = &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: ref, Subjects: subjects}
	if ns != "" {
		binding = &rbacv1.RoleBinding{ObjectMeta: testenv.In(ns, user), RoleRef: ref, Subjects: subjects}
	}
	must(t, admin.Create(t.Context(), binding))
}

// The shipped permissions suffice on an API server, which admits approvals and certificates by the signer, and are worth nothing for others.
func TestPermissionsOnAnAPIServer(t *testing.T) {
	config := fixture.StartAPIServer(t, "../../../config/crd")
	admin, err := client.New(config, client.Options{Scheme: realScheme})
	must(t, err)
	grant(t, admin, rbac.Role("hypershift-operator"), "operator", "")
	grant(t, admin, &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{certificatesv1.GroupName}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get"}},
	}}, "mallory", "")
	for _, ns := range []string{namespace, neighbour} {
		must(t, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	}
	grant(t, admin, &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{certificatesv1alpha1.GroupVersion.Group}, Resources: []string{"certificatesigningrequestapprovals"}, Verbs: []string{"create"}},
	}}, "carol", namespace)
	signer, err := pki.NewSigner(names.CustomerBreakGlassSigner, "", time.Now())
	must(t, err)
	data, err := signer.Data()
	must(t, err)
	must(t, admin.Create(t.Context(), &corev1.Secret{ObjectMeta: testenv.In(namespace, names.CustomerBreakGlassSigner), Data: data}))
	hcp := testenv.HostedControlPlane()
	operator, mallory, carol := as(t, config, "operator"), as(t, config, "mallory"), as(t, config, "carol")
	// The control plane is a fact of the cache; a valid one has more fields than this test needs.
	cached := testenv.New(t, testenv.WithScheme(realScheme), testenv.WithObjects(hcp))
	c := New(Options{Client: planes{operator, cached.Admin()}, Reader: operator, Recorder: &events.FakeRecorder{}, Clock: clock.RealClock{}})
	reconcile := func(name string) *request {
		t.Helper()
		csr := &request{}
		for range 3 {
			_, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
			must(t, err)
		}
		must(t, admin.Get(t.Context(), client.ObjectKey{Name: name}, csr))
		return csr
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	ask := func(by client.Client, name, signerName string) *request {
		t.Helper()
		csr := newRequest(t, key, time.Now(), func(_ *x509.CertificateRequest, csr *request) {
			csr.Name, csr.Spec.SignerName, csr.Spec.Username = name, signerName, ""
			csr.CreationTimestamp = metav1.Time{}
		})
		must(t, by.Create(t.Context(), csr))
		return csr
	}

	csr := ask(mallory, "stolen", names.BreakGlassSignerName(namespace))
	if got := result(reconcile("stolen")); got != "pending" {
		t.Errorf("a request without an approval is %s", got)
	}
	approve := csr.DeepCopy()
	set(approve, certificatesv1.CertificateApproved)
	if err := mallory.SubResource("approval").Update(t.Context(), approve); !apierrors.IsForbidden(err) {
		t.Errorf("a user approves an own request: %v", err)
	}
	for _, kind := range []client.Object{
		&certificatesv1alpha1.CertificateSigningRequestApproval{ObjectMeta: testenv.In(namespace, "stolen")},
		&hyperv1.CertificateSigningRequestApproval{ObjectMeta: testenv.In(namespace, "stolen")},
	} {
		if err := mallory.Create(t.Context(), kind); !apierrors.IsForbidden(err) {
			t.Errorf("a user creates an approval: %v", err)
		}
	}
	if err := carol.Create(t.Context(), &certificatesv1alpha1.CertificateSigningRequestApproval{ObjectMeta: testenv.In(neighbour, "stolen")}); !apierrors.IsForbidden(err) {
		t.Errorf("a user approves in the namespace of a neighbour: %v", err)
	}

	ask(mallory, "alice", names.BreakGlassSignerName(namespace))
	must(t, carol.Create(t.Context(), &certificatesv1alpha1.CertificateSigningRequestApproval{ObjectMeta: testenv.In(namespace, "alice")}))
	issued := reconcile("alice")
	if result(issued) != "issued" {
		t.Fatalf("the approved request is %s", result(issued))
	}
	certs, err := pki.ParseBundle(issued.Status.Certificate)
	must(t, err)
	if err := certs[0].CheckSignatureFrom(signer.Current.Certificate); err != nil {
		t.Error(err)
	}

	// The operator itself cannot approve or sign for others.
	foreign := ask(mallory, "foreign", "example.com/signer")
	set(foreign, certificatesv1.CertificateApproved)
	if err := operator.SubResource("approval").Update(t.Context(), foreign); !apierrors.IsForbidden(err) {
		t.Errorf("the operator approves for others: %v", err)
	}
	foreign.Status = certificatesv1.CertificateSigningRequestStatus{Certificate: issued.Status.Certificate}
	if err := operator.Status().Update(t.Context(), foreign); !apierrors.IsForbidden(err) {
		t.Errorf("the operator signs for others: %v", err)
	}
}

// planes reads HostedControlPlanes from another client.
type planes struct {
	client.Client
	cached client.Reader
}

func (p planes) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*hyperv1.HostedControlPlaneList); ok {
		return p.cached.List(ctx, list, opts...)
	}
	return p.Client.List(ctx, list, opts...)
}
