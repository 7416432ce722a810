package certificates

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
)

// A Revocation is the part of a CertificateRevocationRequest that Ensure depends on.
type Revocation struct {
	// ID is the UID of the request.
	ID string
	// Trusted is true when every API server accepts certificates of the next authority.
	Trusted bool
}

// RevocationIn returns the revocation in progress. It begins when the previous authority is stored in a Secret of its own: afterwards its key
// is needed to verify that its certificates are refused.
func RevocationIn(requests []certificatesv1alpha1.CertificateRevocationRequest) Revocation {
	crr := ActiveRevocation(requests)
	if crr == nil || crr.Status.PreviousSigner == nil {
		return Revocation{}
	}
	return Revocation{ID: string(crr.UID), Trusted: meta.IsStatusConditionTrue(crr.Status.Conditions, certificatesv1alpha1.NewCertificatesTrusted)}
}

// ActiveRevocation returns the oldest request that is not complete, or nil. The others wait: each needs an authority of its own.
func ActiveRevocation(requests []certificatesv1alpha1.CertificateRevocationRequest) *certificatesv1alpha1.CertificateRevocationRequest {
	var open []*certificatesv1alpha1.CertificateRevocationRequest
	for i := range requests {
		crr := &requests[i]
		if crr.Spec.SignerClass == certificatesv1alpha1.CustomerBreakGlass && crr.DeletionTimestamp.IsZero() && !RevocationIsComplete(crr) {
			open = append(open, crr)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return slices.MinFunc(open, func(a, b *certificatesv1alpha1.CertificateRevocationRequest) int {
		begun := func(crr *certificatesv1alpha1.CertificateRevocationRequest) int {
			if crr.Status.PreviousSigner != nil {
				return 0 // a request of the same second, and of an earlier name, does not overtake it
			}
			return 1
		}
		return cmp.Or(begun(a)-begun(b), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// RevocationIsComplete reports whether a request has reached its last condition, which is never taken back.
func RevocationIsComplete(crr *certificatesv1alpha1.CertificateRevocationRequest) bool {
	return meta.IsStatusConditionTrue(crr.Status.Conditions, certificatesv1alpha1.PreviousCertificatesRevoked)
}
