package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"time"
)

// A Revocation replaces an authority so that its certificates are not accepted any more.
type Revocation struct {
	// ID identifies the request.
	ID string `json:"id"`
	// Of is the fingerprint of the authority that signed when the revocation began.
	Of string `json:"of"`
}

// Fingerprint identifies a certificate.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// Revoke takes the next step of the revocation with this id, in the steps of a rotation. It differs from Advance in two ways: the caller
// has verified that the next authority is trusted, and the former one is dropped at once although its certificates have not expired.
func (s *Signer) Revoke(name, id string, trusted bool, now time.Time) (Turn, error) {
	switch {
	case s.Revoked(id) && len(s.Old) > 0:
		s.Old = nil
		return Finished, nil
	case s.Revoked(id):
		return NoTurn, nil
	case s.Revoking(id) && s.Next != nil && !trusted:
		return NoTurn, nil
	case s.Revoking(id) && s.Next != nil:
		s.Old = append(s.Old, s.Current.Certificate)
		s.Current, s.Next, s.Since, s.Retired = s.Next, nil, now, now
		return Switched, nil
	}
	if s.Next == nil { // else a rotation has introduced one, which has signed nothing
		next, err := NewAuthority(name, now)
		if err != nil {
			return NoTurn, err
		}
		s.Next = next
	}
	s.Since, s.Revocation = now, Revocation{ID: id, Of: Fingerprint(s.Current.Certificate)}
	return Introduced, nil
}

// Revoking reports whether the revocation with this id has begun.
func (s *Signer) Revoking(id string) bool { return id != "" && s.Revocation.ID == id }

// Revoked reports whether the authority that signed when the revocation began does not sign any more. It may still be trusted.
func (s *Signer) Revoked(id string) bool {
	return s.Revoking(id) && s.Revocation.Of != Fingerprint(s.Current.Certificate)
}

// Issuer returns the authority for new certificates of other programs. During a revocation it is the next one: certificates of the current
// one would be revoked within minutes, and those of the next one are accepted by then.
func (s *Signer) Issuer() *Authority {
	if s.Next != nil && s.Revocation.Of == Fingerprint(s.Current.Certificate) {
		return s.Next
	}
	return s.Current
}

// Trusts reports whether the signer's bundle contains cert.
func (s *Signer) Trusts(cert *x509.Certificate) bool {
	trusted := s.Current.Certificate.Equal(cert) || s.Next != nil && s.Next.Certificate.Equal(cert)
	for _, old := range s.Old {
		trusted = trusted || old.Equal(cert)
	}
	return trusted
}
