// Package testenv builds the environments of tests in process: a fake API server, a fake AWS and a fake clock.
//
//	New ─► Env: crashtest.Cluster, fakeaws.Cloud, one clock for all
//	         ├─ SigningKeySecret, TrustIssuer: the identity with which a control-plane-operator calls AWS
//	         └─ Sessions: the AWS sessions of a control-plane-operator that has just started
//	PrivateCluster ─► a valid HostedCluster
//
// A test embeds Env in its own type and adds the facts that its controller needs.
package testenv

import (
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// The hosted cluster of a test.
const (
	Region    = "us-east-1"
	Provider  = "111111111111" // account of the management cluster
	Customer  = "222222222222" // account of the hosted cluster
	Namespace = "clusters-demo"
	Issuer    = "https://issuer.example.com/demo"
)

// Start is the time at which tests start.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Scheme returns a scheme with the types of this project, core types, and others. It should contain only the types that a test needs: the
// fake API server goes through all of it for every write.
func Scheme(others ...func(*runtime.Scheme) error) *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range append(others, corev1.AddToScheme, hyperv1.AddToScheme) {
		utilruntime.Must(add(s))
	}
	return s
}

// Env is a management cluster and AWS.
type Env struct {
	*crashtest.Cluster
	T     testing.TB
	Clock *clocktesting.FakeClock
	AWS   *fakeaws.Cloud
}

// New returns an empty environment. An unexpected call of AWS fails the test.
func New(t testing.TB, opts crashtest.Options) *Env {
	clock := clocktesting.NewFakeClock(Start)
	return &Env{Cluster: crashtest.NewCluster(opts), T: t, Clock: clock, AWS: fakeaws.New(clock).FailOn(t)}
}

// Must ends the test at an error.
func (e *Env) Must(err error) {
	e.T.Helper()
	if err != nil {
		e.T.Fatal(err)
	}
}

// SigningKey is generated once: a key takes longer than a test.
var SigningKey = sync.OnceValues(func() (private, public []byte) {
	private, public, err := webidentity.GenerateKey()
	utilruntime.Must(err)
	return private, public
})

// SigningKeySecret is the Secret with SigningKey, in Namespace.
func SigningKeySecret() *corev1.Secret {
	private, _ := SigningKey()
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: names.ServiceAccountSigningKey},
		Data:       map[string][]byte{names.ServiceAccountPrivateKeyFile: private},
	}
}

// TrustIssuer adds the identity provider of Issuer to an account.
func (e *Env) TrustIssuer(account *fakeaws.Account) {
	e.T.Helper()
	_, public := SigningKey()
	keys, err := webidentity.JWKS(public)
	e.Must(err)
	account.AddIdentityProvider(fakeaws.IdentityProvider{Issuer: Issuer, Audiences: []string{names.WebIdentityAudience}, JWKS: keys})
}

// Sessions returns the signer and the AWS sessions of a control-plane-operator that has just started.
func (e *Env) Sessions() (*tokensigner.Signer, *identity.Sessions) {
	signer := &tokensigner.Signer{Client: e.Client(), Namespace: Namespace, Clock: e.Clock}
	return signer, identity.New(identity.Options{
		Name: names.ControlPlaneOperator, Token: signer.Token, Subject: names.ControlPlaneOperatorSubject, Clock: e.Clock,
		Middleware: []func(*middleware.Stack) error{e.AWS.Install, fakeaws.NoBackoff, e.Calls.Middleware},
	})
}
