// Package tokensigner signs the web-identity tokens that the operators exchange for AWS credentials.
//
// The key also signs the hosted cluster's service account tokens. The operator therefore has an AWS
// identity before the hosted API server is up, and after it is deleted, when AWS resources are cleaned up.
package tokensigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// ErrNoKey means that the signing key does not exist yet.
var ErrNoKey = errors.New("waiting for Secret " + names.ServiceAccountSigningKey + " with the cluster's signing key")

// lifetime is short, because a token is exchanged for credentials at once, and sufficient for a clock that is a quarter of an hour slow.
const lifetime = 30 * time.Minute

// Signer signs tokens with the key in the control plane's namespace. It reads the key for each token, about once an
// hour, so that a replaced key is used at once.
type Signer struct {
	Client    client.Reader
	Namespace string
	Clock     clock.PassiveClock
	// Key is the key of the Secret with the private key; by default the one that signs.
	Key string
}

// Token returns a token of the issuer for a subject: the operator's own subject, or a component's, to check its role.
func (s *Signer) Token(ctx context.Context, issuerURL, subject string) ([]byte, error) {
	key, err := s.key(ctx)
	if err != nil {
		return nil, err
	}
	signer, err := webidentity.NewSigner(key, issuerURL, s.Clock)
	if err != nil {
		return nil, fmt.Errorf("reading %s in Secret %s: %w", s.name(), names.ServiceAccountSigningKey, err)
	}
	token, err := signer.Token(subject, names.WebIdentityAudience, lifetime)
	return []byte(token), err
}

// keyInterval is the interval for looking for a key that does not exist yet. Controllers do not watch its Secret.
const keyInterval = 10 * time.Second

// Await waits, by reconcile.Wait, as long as ready returns ErrNoKey. It returns other errors of ready.
func Await(ctx context.Context, ready func(context.Context) error) error {
	err := ready(ctx)
	if errors.Is(err, ErrNoKey) {
		return reconcile.Wait(keyInterval, hyperv1.WaitingForSigningKeyReason, "%s", err)
	}
	return err
}

// Session opens the session of a role, and waits as Await does.
func Session(ctx context.Context, ready func(context.Context) error, sessions *identity.Sessions, role identity.Target) (*identity.Session, error) {
	if err := Await(ctx, ready); err != nil {
		return nil, err
	}
	return sessions.For(ctx, role)
}

// Ready returns ErrNoKey until the signing key exists.
func (s *Signer) Ready(ctx context.Context) error {
	_, err := s.key(ctx)
	return err
}

func (s *Signer) key(ctx context.Context) ([]byte, error) {
	secret := &corev1.Secret{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: names.ServiceAccountSigningKey}, secret)
	if apierrors.IsNotFound(err) || err == nil && len(secret.Data[s.name()]) == 0 {
		return nil, ErrNoKey
	}
	if err != nil {
		return nil, fmt.Errorf("reading the signing key: %w", err)
	}
	return secret.Data[s.name()], nil
}

func (s *Signer) name() string { return cmp.Or(s.Key, names.ServiceAccountPrivateKeyFile) }
