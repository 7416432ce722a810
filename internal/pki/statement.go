package pki

import (
	"crypto"
	"crypto/sha256"
	"fmt"
)

// Sign returns the authority's signature on a text, for `openssl dgst -sha256 -verify`. It is deterministic, so that an
// object with a signature changes only with the text. A text cannot be mistaken for a certificate: the signed part of a certificate
// starts with an ASN.1 tag.
func (a *Authority) Sign(text []byte) ([]byte, error) {
	digest := sha256.Sum256(text)
	signature, err := a.key.Sign(nil, digest[:], crypto.SHA256) // deterministic, without random bytes: RFC 6979
	if err != nil {
		return nil, fmt.Errorf("signing with %s: %w", a.Certificate.Subject.CommonName, err)
	}
	return signature, nil
}
