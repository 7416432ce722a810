package hostedcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// trustAnnotation tells the user's authorities apart, which programs take up when they start.
const trustAnnotation = "hypershift.openshift.io/additional-trust-bundle"

// trust is a hash of the user's authorities, as they are in the copy or will be.
func (r *Reconciler) trust(ctx context.Context, s *scope) (string, error) {
	if s.hc.Spec.AdditionalTrustBundle == nil {
		return "", nil
	}
	data, _, _, err := r.broughtOrCopied(ctx, s, trustBundleOf(&s.hc.Spec))
	if err != nil || data == nil {
		return "", err
	}
	sum := sha256.Sum256(data[bundleKey])
	return hex.EncodeToString(sum[:8]), nil
}
