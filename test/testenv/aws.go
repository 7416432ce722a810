package testenv

import (
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// SigningKey is generated once: a key takes longer than a test.
var SigningKey = sync.OnceValues(func() (private, public []byte) {
	private, public, err := webidentity.GenerateKey()
	utilruntime.Must(err)
	return private, public
})

// SigningKeySecret is the Secret with SigningKey, in Namespace.
func SigningKeySecret() *corev1.Secret {
	private, _ := SigningKey()
	return Secret(names.ServiceAccountSigningKey, names.ServiceAccountPrivateKeyFile, string(private))
}

// TrustIssuer adds the identity provider of Issuer to an account.
func (e *Env) TrustIssuer(account *fakeaws.Account) {
	e.T.Helper()
	_, public := SigningKey()
	keys, err := webidentity.JWKS(public)
	e.Must(err)
	account.AddIdentityProvider(fakeaws.IdentityProvider{Issuer: Issuer, Audiences: []string{names.WebIdentityAudience}, JWKS: keys})
}

// CustomerAccount returns the account Customer, which trusts Issuer, and its role of the control-plane-operator.
func (e *Env) CustomerAccount() (account *fakeaws.Account, role string) {
	e.T.Helper()
	account = e.AWS.Account(Customer)
	e.TrustIssuer(account)
	return account, account.AddRole(TrustingRole("demo-cpo", names.ControlPlaneOperatorSubject))
}

// TrustingRole returns a role that trusts the tokens of Issuer for a subject.
func TrustingRole(name, subject string) fakeaws.Role {
	return fakeaws.Role{Name: name, Trusts: []fakeaws.Trust{{
		Issuer: Issuer, Subjects: []string{subject}, Audiences: []string{names.WebIdentityAudience},
	}}}
}

// Config returns the credentials of the controller under test in Region: its calls are counted.
func (e *Env) Config(account *fakeaws.Account, region, role string) aws.Config {
	config := account.Config(region, role)
	config.APIOptions = append(slices.Clone(config.APIOptions), e.Calls.Middleware)
	return config
}

// Sessions returns the signer and the AWS sessions of a control-plane-operator that has just started.
func (e *Env) Sessions() (*tokensigner.Signer, *identity.Sessions) {
	signer := &tokensigner.Signer{Client: e.Client(), Namespace: Namespace, Clock: e.Clock}
	return signer, identity.New(identity.Options{
		Name: names.ControlPlaneOperator, Token: signer.Token, Subject: names.ControlPlaneOperatorSubject, Clock: e.Clock,
		Middleware: []func(*middleware.Stack) error{e.AWS.Install, fakeaws.NoBackoff, e.Calls.Middleware},
	})
}

// AWSLines returns the lines of AWS's state that contain all words.
func (e *Env) AWSLines(words ...string) []string {
	var lines []string
	for _, line := range strings.Split(e.AWS.Snapshot(), "\n") {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			lines = append(lines, line)
		}
	}
	return lines
}
