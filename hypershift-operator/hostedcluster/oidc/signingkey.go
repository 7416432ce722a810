package oidc

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/userobjects"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// SigningKeys provides the key pairs that sign the tokens of service accounts.
type SigningKeys struct {
	// Cached and Live read from the cache and from the API server.
	Cached, Live client.Reader
	// Generate returns a new key pair, PEM.
	Generate func() (private, public []byte, err error)
}

// Get returns the Secret with the cluster's key pair: the user's key pair, the existing one, or a new one.
func (k SigningKeys) Get(ctx context.Context, spec *hyperv1.HostedClusterSpec, plane controlplane.Namespace, objects *userobjects.Reader) (*corev1.Secret, error) {
	data, err := k.get(ctx, spec, plane, objects)
	if err != nil {
		return nil, err
	}
	return plane.Secret(names.ServiceAccountSigningKey, corev1.SecretTypeOpaque, data), nil
}

// PublicKeys returns the public keys of such a Secret, PEM.
func PublicKeys(secret *corev1.Secret) []byte {
	return secret.Data[names.ServiceAccountPublicKeyFile]
}

func (k SigningKeys) get(ctx context.Context, spec *hyperv1.HostedClusterSpec, plane controlplane.Namespace, objects *userobjects.Reader) (map[string][]byte, error) {
	if spec.ServiceAccountSigningKey != nil {
		return userKey(ctx, objects, userobjects.SigningKeyOf(spec))
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
		ctrl.LoggerFrom(ctx).Info("Generating a service account signing key", "controlPlane", plane.Name)
		private, public, err := k.Generate()
		return keyPair(private, public), err
	}
	return keyPair(secret.Data[names.ServiceAccountPrivateKeyFile], secret.Data[names.ServiceAccountPublicKeyFile]), nil
}

// userKey returns the user's key pair. During a rotation the old public key is
// trusted as well.
func userKey(ctx context.Context, objects *userobjects.Reader, ref userobjects.Reference) (map[string][]byte, error) {
	data, err := objects.Read(ctx, ref)
	if err != nil {
		return nil, err
	}
	public, err := webidentity.PublicFromPrivate(data[userobjects.SigningKeyKey])
	if err == nil {
		public = bytes.Join([][]byte{public, data[userobjects.OldPublicKeyKey]}, nil)
		_, err = webidentity.JWKS(public)
	}
	if err != nil {
		return nil, reconcile.Wait(0, hyperv1.InvalidSecretReason, "Secret %s, which %s names, cannot be used: %v", *ref.Name, ref.Field, err)
	}
	return keyPair(data[userobjects.SigningKeyKey], public), nil
}

func keyPair(private, public []byte) map[string][]byte {
	return map[string][]byte{names.ServiceAccountPrivateKeyFile: private, names.ServiceAccountPublicKeyFile: public}
}
