package hostedcluster

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// ensureIssuer makes the key that signs the cluster's tokens, and publishes by
// what AWS can check them. Neither needs a running control plane: AWS knows the
// cluster before its API server exists and after it is gone.
func (r *Reconciler) ensureIssuer(ctx context.Context, s *scope) error {
	publicKeys, err := r.ensureSigningKey(ctx, s)
	if err != nil || s.aws() == nil {
		return err
	}
	if s.hc.Spec.ServiceAccountSigningKey != nil {
		return reconcile.Unverified(hyperv1.StatusUnknownReason,
			"the documents at %s are the user's to publish, because the signing key is; ValidAWSIdentityProvider says whether AWS accepts them", s.hc.Spec.IssuerURL)
	}
	site, err := r.site(s, publicKeys)
	if err != nil {
		return err
	}
	published := r.publish(ctx, s, site)
	if placeOf(s.hc.Spec.IssuerURL).bucket == "" {
		return reconcile.Unverified(hyperv1.StatusUnknownReason,
			"the documents are published in bucket %s, and spec.issuerURL %s is not a URL of S3; ValidAWSIdentityProvider says whether AWS finds them there",
			r.Documents.Name(), s.hc.Spec.IssuerURL).With(published)
	}
	return published
}

// ensureSigningKey returns the public keys that are trusted, PEM.
func (r *Reconciler) ensureSigningKey(ctx context.Context, s *scope) ([]byte, error) {
	data, err := r.signingKey(ctx, s)
	if err != nil {
		return nil, err
	}
	_, err = r.apply.Apply(ctx, s.secretsSet(setSigningKey), s.desiredSecret(names.ServiceAccountSigningKey, corev1.SecretTypeOpaque, data))
	return data[names.ServiceAccountPublicKeyFile], err
}

// signingKey is the user's key, or the one that was made before, or a new one.
func (r *Reconciler) signingKey(ctx context.Context, s *scope) (map[string][]byte, error) {
	if s.hc.Spec.ServiceAccountSigningKey != nil {
		return r.userKey(ctx, s, signingKeyOf(&s.hc.Spec))
	}
	secret, key := &corev1.Secret{}, client.ObjectKey{Namespace: s.controlPlane, Name: names.ServiceAccountSigningKey}
	err := r.Client.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		// To make a second key because the first one is not in the cache yet
		// would take away every token that the first one signed.
		err = r.Reader.Get(ctx, key, secret)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting Secret %s: %w", names.ServiceAccountSigningKey, err)
	}
	if apierrors.IsNotFound(err) {
		ctrl.LoggerFrom(ctx).Info("Generating a service account signing key", "namespace", s.controlPlane)
		private, public, err := r.GenerateKey()
		return keyPair(private, public), err
	}
	return keyPair(secret.Data[names.ServiceAccountPrivateKeyFile], secret.Data[names.ServiceAccountPublicKeyFile]), nil
}

// Keys of a user's Secret for spec.serviceAccountSigningKey.
const (
	userPrivateKey   = "key"
	userOldPublicKey = "old-key.pub"
)

// userKey reads the user's key. While it rotates, the old one is trusted too.
func (r *Reconciler) userKey(ctx context.Context, s *scope, ref reference) (map[string][]byte, error) {
	data, err := r.brought(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	public, err := webidentity.PublicFromPrivate(data[userPrivateKey])
	if err == nil {
		public = bytes.Join([][]byte{public, data[userOldPublicKey]}, nil)
		_, err = webidentity.JWKS(public)
	}
	if err != nil {
		return nil, reconcile.Wait(0, hyperv1.InvalidSecretReason, "Secret %s, which %s names, cannot be used: %v", *ref.name, ref.field, err)
	}
	return keyPair(data[userPrivateKey], public), nil
}

func keyPair(private, public []byte) map[string][]byte {
	return map[string][]byte{names.ServiceAccountPrivateKeyFile: private, names.ServiceAccountPublicKeyFile: public}
}

// site is what has to be published.
func (r *Reconciler) site(s *scope, publicKeys []byte) (oidcdocs.Site, error) {
	var none oidcdocs.Site
	if r.Documents == nil {
		return none, reconcile.Block(hyperv1.OIDCStorageMissingReason,
			"this installation has no bucket for OIDC documents: start the hypershift-operator with --oidc-storage-provider-s3-bucket-name, or set spec.serviceAccountSigningKey and publish the documents yourself")
	}
	if r.documentsElsewhere(s) {
		return none, reconcile.Block(hyperv1.OIDCStorageMissingReason, "the OIDC documents are %s, and the hypershift-operator was started with bucket %s in region %s: start it with the former",
			documentsOf(s), r.Documents.Name(), r.Documents.Region())
	}
	issuer, infraID := s.hc.Spec.IssuerURL, s.hc.Spec.InfraID
	at := placeOf(issuer)
	ours := at.bucket == "" || at.in(r.Documents.Name(), r.Documents.Region())
	if !ours || !strings.HasSuffix("/"+at.prefix, "/"+infraID) || at.bucket != "" && at.prefix != infraID {
		return none, reconcile.Block(hyperv1.OIDCConfigurationInvalidReason,
			"spec.issuerURL %s is not where this installation publishes the OIDC documents of infraID %s: create the cluster with spec.issuerURL %s, or with spec.serviceAccountSigningKey and publish them yourself",
			issuer, infraID, r.issuerFor(infraID))
	}
	jwks, err := webidentity.JWKS(publicKeys)
	if err != nil {
		return none, reconcile.Block(hyperv1.InvalidSecretReason, "Secret %s/%s does not hold the cluster's key any more: %v", s.controlPlane, names.ServiceAccountSigningKey, err)
	}
	discovery, err := webidentity.Discovery(issuer)
	if err != nil {
		return none, err
	}
	site := r.emptySite(s)
	site.Documents[webidentity.DiscoveryPath] = discovery
	site.Documents[webidentity.JWKSPath] = jwks
	return site, nil
}

// issuerFor is the URL under which S3 serves what is published with the prefix.
func (r *Reconciler) issuerFor(prefix string) string {
	domain := "amazonaws.com"
	if strings.HasPrefix(r.Documents.Region(), "cn-") {
		domain = "amazonaws.com.cn"
	}
	return fmt.Sprintf("https://%s.s3.%s.%s/%s", r.Documents.Name(), r.Documents.Region(), domain, prefix)
}

// emptySite names the documents of a cluster without their contents.
func (r *Reconciler) emptySite(s *scope) oidcdocs.Site {
	return oidcdocs.Site{
		Prefix:    s.hc.Spec.InfraID,
		Owner:     string(s.hc.UID),
		Documents: map[string][]byte{webidentity.DiscoveryPath: nil, webidentity.JWKSPath: nil},
	}
}
