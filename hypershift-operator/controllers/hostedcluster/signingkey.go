package hostedcluster

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/oidc"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// signingKeys returns the provider of the cluster's keys, of the type that the user wants.
func (r *Reconciler) signingKeys(s *scope) oidc.SigningKeys {
	keys := oidc.SigningKeys{Cached: r.Client, Live: r.Reader, Generate: r.GenerateKey}
	if s.hc.Annotations[hyperv1.SigningKeyTypeAnnotation] == hyperv1.SigningKeyTypeRSA {
		keys.Generate = webidentity.GenerateRSAKey
	}
	return keys
}

// staleCache is how soon the cache is read again.
const staleCache = time.Second

// storeKeys writes the keys, which follow from the data that the Secret had, or nil before it exists. If the cache was stale, keys of a later step
// would be lost.
func (r *Reconciler) storeKeys(ctx context.Context, s *scope, from map[string][]byte, keys *signingkeys.State) error {
	same := func(a, b map[string][]byte) bool {
		return maps.EqualFunc(a, b, func(x, y []byte) bool { return string(x) == string(y) })
	}
	if desired := keys.Data(); from != nil && !same(from, desired) {
		live := &corev1.Secret{}
		if err := r.Reader.Get(ctx, s.plane.Key(names.ServiceAccountSigningKey), live); err != nil {
			return fmt.Errorf("getting Secret %s: %w", names.ServiceAccountSigningKey, err)
		}
		if !same(live.Data, from) {
			return reconcile.Wait(staleCache, hyperv1.WaitingForReason, "waiting until the cache has Secret %s", names.ServiceAccountSigningKey)
		}
	}
	_, err := r.apply.Apply(ctx, s.secretsSet(setSigningKey), s.plane.Secret(names.ServiceAccountSigningKey, corev1.SecretTypeOpaque, keys.Data()))
	return err
}

// rotateSigningKey takes the next step of a rotation of the signing key, if it is due. The change of the Secret leads to the next reconcile,
// which stores the documents with the keys.
func (r *Reconciler) rotateSigningKey(ctx context.Context, s *scope) error {
	if s.keys == nil {
		return nil // the step of the token issuer reports the reason
	}
	f := r.rotationFacts(s)
	next, step, err := signingkeys.Next(s.keys.State, f)
	if err != nil || step == nil {
		return err
	}
	if err := r.storeKeys(ctx, s, s.keys.Data(), next); err != nil {
		return err
	}
	s.documents.stored = s.documents.stored && string(next.PublicKeys()) == string(s.keys.PublicKeys())
	s.keys.State = next
	if step.Reason != "" {
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, step.Reason, "RotateSigningKey", "%s", step.Message)
	}
	return nil
}

// rotationFacts are what a step of a rotation depends on.
func (r *Reconciler) rotationFacts(s *scope) signingkeys.Facts {
	annotations := s.hc.Annotations
	f := signingkeys.Facts{
		Now: r.Clock.Now(), Requested: annotations[hyperv1.RotateSigningKeyAnnotation], Retire: annotations[hyperv1.RetireSigningKeyAnnotation],
		Generate:    r.signingKeys(s).New,
		MaxAge:      durationOf(annotations[hyperv1.SigningKeyMaxAgeAnnotation], 0),
		Publication: durationOf(annotations[hyperv1.SigningKeyPublicationAnnotation], signingkeys.DefaultPublication),
		TokenLife:   durationOf(annotations[hyperv1.KubeAPIServerServiceAccountTokenMaxExpirationAnnotation], signingkeys.MaxTokenLife),
		Stored:      s.documents.stored, Rewritten: s.documents.rewritten, AsksAWS: s.aws() != nil,
	}
	if s.keys != nil {
		f.UserKey, f.Created = s.keys.User, s.keys.Created
		if s.hc.Spec.ServiceAccountSigningKey != nil && f.UserKey == nil {
			f.UserKey = s.keys.Wanted() // the user's key cannot be read: no key replaces it
		}
	}
	if s.hcp != nil && s.hcp.Status.ServiceAccountKeys != nil && s.keys != nil {
		reported := s.hcp.Status.ServiceAccountKeys
		f.Loaded = reported.LoadedRevision == s.keys.Revision()
		f.TrustedByAWS, f.Tokens = reported.TrustedByAWS, reported.OldKeys
	}
	return f
}

// durationOf reads an annotation. The step of the configuration reports a value that is no duration.
func durationOf(value string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(value); err == nil && d >= 0 {
		return d
	}
	return otherwise
}

// reportSigningKey sets the status about the keys, and returns their condition; nil if they could not be read.
func (r *Reconciler) reportSigningKey(s *scope) *metav1.Condition {
	if s.keys == nil || s.deleting() {
		return nil
	}
	f, waits := r.rotationFacts(s), ""
	if s.hcp != nil && s.hcp.Status.ServiceAccountKeys != nil {
		waits = s.hcp.Status.ServiceAccountKeys.Message
	}
	s.hc.Status.ServiceAccountSigningKey = signingkeys.Status(s.keys.State, f)
	c := signingkeys.Condition(s.keys.State, f, waits)
	return &c
}

// rotationCheckAfter is how long no step of a rotation is due without an event; 0 for no limit.
func (r *Reconciler) rotationCheckAfter(s *scope) time.Duration {
	if s.keys == nil || s.deleting() {
		return 0
	}
	return s.keys.CheckAfter(r.rotationFacts(s))
}
