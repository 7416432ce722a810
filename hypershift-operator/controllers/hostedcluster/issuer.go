package hostedcluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/oidc"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureIssuer creates the key that signs the cluster's tokens, and publishes the
// documents by which AWS verifies them.
func (r *Reconciler) ensureIssuer(ctx context.Context, s *scope) error {
	keys, err := r.signingKeys(s).Get(ctx, &s.hc.Spec, s.plane, s.objects, r.rotationFacts(s))
	if err != nil {
		return err
	}
	if err := r.storeKeys(ctx, s, keys.Stored, keys.State); err != nil {
		return err
	}
	s.keys = keys
	if s.aws() == nil {
		s.documents.stored = true // there are none
		return keys.Fault
	}
	if s.hc.Spec.ServiceAccountSigningKey != nil {
		s.documents.stored = true // AWS has to accept the next key
		if keys.Fault != nil {
			return keys.Fault
		}
		return reconcile.Unverified(hyperv1.StatusUnknownReason,
			"the documents at %s are the user's to publish, because the signing key is; ValidAWSIdentityProvider says whether AWS accepts them", s.hc.Spec.IssuerURL)
	}
	return r.publishDocuments(ctx, s, keys)
}

// publishDocuments stores the documents with all keys that are accepted.
func (r *Reconciler) publishDocuments(ctx context.Context, s *scope, keys *oidc.Keys) error {
	site, err := r.oidc.Site(oidc.IssuerOf(s.hc), keys.PublicKeys())
	if err != nil {
		return err
	}
	if s.hc.IsHandedOver() {
		return nil // another management cluster publishes them
	}
	if !s.deleting() && s.sleep.Phase != hyperv1.SleepPhaseAsleep {
		site.Proves = oidc.ProofOf(keys.Signing.ID)
	}
	changed, err := r.oidc.Publish(ctx, oidc.IssuerOf(s.hc), site, func(ctx context.Context) error {
		if s.hc.Status.OIDCDocuments != nil {
			return nil
		}
		s.hc.Status.OIDCDocuments = r.oidc.Location()
		return s.save(ctx)
	})
	s.documents.stored, s.documents.rewritten = err == nil, changed
	if err == nil && changed {
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, "OIDCDocumentsPublished", "Publish", "Published the OIDC documents of %s", s.hc.Spec.IssuerURL)
	}
	if oidc.ParseIssuer(s.hc.Spec.IssuerURL).Bucket == "" {
		return reconcile.Unverified(hyperv1.StatusUnknownReason, "the documents are published in bucket %s, and spec.issuerURL %s is not a URL of S3; ValidAWSIdentityProvider says whether AWS finds them there",
			r.oidc.Location().Bucket, s.hc.Spec.IssuerURL).With(err)
	}
	return err
}
