package hostedcluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/oidc"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// ensureIssuer creates the key that signs the cluster's tokens, and publishes the
// documents by which AWS verifies them.
func (r *Reconciler) ensureIssuer(ctx context.Context, s *scope) error {
	keys := oidc.SigningKeys{Cached: r.Client, Live: r.Reader, Generate: r.GenerateKey}
	if s.hc.Annotations[hyperv1.SigningKeyTypeAnnotation] == hyperv1.SigningKeyTypeRSA {
		keys.Generate = webidentity.GenerateRSAKey
	}
	secret, err := keys.Get(ctx, &s.hc.Spec, s.plane, s.objects)
	if err != nil {
		return err
	}
	if _, err := r.apply.Apply(ctx, s.secretsSet(setSigningKey), secret); err != nil || s.aws() == nil {
		return err
	}
	if s.hc.Spec.ServiceAccountSigningKey != nil {
		return reconcile.Unverified(hyperv1.StatusUnknownReason,
			"the documents at %s are the user's to publish, because the signing key is; ValidAWSIdentityProvider says whether AWS accepts them", s.hc.Spec.IssuerURL)
	}
	site, err := r.oidc.Site(oidc.IssuerOf(s.hc), oidc.PublicKeys(secret))
	if err != nil {
		return err
	}
	changed, err := r.oidc.Publish(ctx, oidc.IssuerOf(s.hc), site, func(ctx context.Context) error {
		if s.hc.Status.OIDCDocuments != nil {
			return nil
		}
		s.hc.Status.OIDCDocuments = r.oidc.Location()
		return s.save(ctx)
	})
	if err == nil && changed {
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, "OIDCDocumentsPublished", "Publish", "Published the OIDC documents of %s", s.hc.Spec.IssuerURL)
	}
	if oidc.ParseIssuer(s.hc.Spec.IssuerURL).Bucket == "" {
		return reconcile.Unverified(hyperv1.StatusUnknownReason, "the documents are published in bucket %s, and spec.issuerURL %s is not a URL of S3; ValidAWSIdentityProvider says whether AWS finds them there",
			r.oidc.Location().Bucket, s.hc.Spec.IssuerURL).With(err)
	}
	return err
}
