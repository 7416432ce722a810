package oidc

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/userobjects"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
)

// SigningKeys provides the keys that sign the tokens of service accounts.
type SigningKeys struct {
	// Cached and Live read from the cache and from the API server.
	Cached, Live client.Reader
	// Generate returns a new key pair, PEM.
	Generate func() (private, public []byte, err error)
}

// Keys are the keys of one cluster.
type Keys struct {
	*signingkeys.State
	// User is the key in spec.serviceAccountSigningKey. It is nil for a generated key, and if it cannot be used: Fault has the
	// reason, and the keys in use stay.
	User  *signingkeys.Key
	Fault error
	// Created is when the Secret was created, zero before.
	Created time.Time
	// Stored is the data of the Secret, nil before it exists.
	Stored map[string][]byte
}

// Get returns the keys of a cluster: the existing ones, or those of a new cluster. f has the user's requests.
func (k SigningKeys) Get(ctx context.Context, spec *hyperv1.HostedClusterSpec, plane controlplane.Namespace, objects *userobjects.Reader, f signingkeys.Facts) (*Keys, error) {
	keys := &Keys{}
	var extra []byte
	if spec.ServiceAccountSigningKey != nil {
		keys.User, extra, keys.Fault = userKey(ctx, objects, userobjects.SigningKeyOf(spec))
	}
	secret, key := &corev1.Secret{}, plane.Key(names.ServiceAccountSigningKey)
	err := k.Cached.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		// The cache may be stale. A second key would invalidate every token that the
		// first one has signed.
		err = k.Live.Get(ctx, key, secret)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting Secret %s: %w", key.Name, err)
	}
	if apierrors.IsNotFound(err) {
		keys.State, err = k.create(ctx, keys, plane, f)
	} else {
		keys.Created, keys.Stored = secret.CreationTimestamp.Time, secret.Data
		keys.State, err = decode(secret, keys, f)
	}
	if err != nil {
		return nil, err
	}
	if keys.User != nil {
		err = keys.SetExtra(extra)
	}
	return keys, err
}

// create returns the state of a new cluster.
func (k SigningKeys) create(ctx context.Context, keys *Keys, plane controlplane.Namespace, f signingkeys.Facts) (*signingkeys.State, error) {
	switch {
	case keys.Fault != nil:
		return nil, keys.Fault
	case keys.User != nil:
		return signingkeys.New(*keys.User, f), nil
	}
	ctrl.LoggerFrom(ctx).Info("Generating a service account signing key", "controlPlane", plane.Name)
	key, err := k.New()
	if err != nil {
		return nil, err
	}
	return signingkeys.New(key, f), nil
}

// New generates a key.
func (k SigningKeys) New() (signingkeys.Key, error) {
	private, _, err := k.Generate()
	if err != nil {
		return signingkeys.Key{}, err
	}
	return signingkeys.NewKey(private)
}

// decode reads an existing Secret. The user's key repairs it.
func decode(secret *corev1.Secret, keys *Keys, f signingkeys.Facts) (*signingkeys.State, error) {
	state, err := signingkeys.Decode(secret.Data)
	switch {
	case err == nil:
		return state, nil
	case keys.User != nil:
		return signingkeys.New(*keys.User, f), nil
	}
	return nil, reconcile.Block(hyperv1.InvalidSecretReason, "Secret %s/%s does not hold the cluster's keys any more, and tokens are not accepted without them: restore it from a backup: %v", secret.Namespace, secret.Name, err)
}

// userKey returns the user's key, and the public keys that are to be accepted in addition.
func userKey(ctx context.Context, objects *userobjects.Reader, ref userobjects.Reference) (*signingkeys.Key, []byte, error) {
	data, err := objects.Read(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	key, err := signingkeys.NewKey(data[userobjects.SigningKeyKey])
	if err == nil {
		err = (&signingkeys.State{Signing: key}).SetExtra(data[userobjects.OldPublicKeyKey])
	}
	if err != nil {
		return nil, nil, reconcile.Wait(0, hyperv1.InvalidSecretReason, "Secret %s, which %s names, cannot be used: %v", *ref.Name, ref.Field, err)
	}
	return &key, data[userobjects.OldPublicKeyKey], nil
}
