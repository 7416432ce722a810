package pki

import (
	"crypto"
	"crypto/sha256"
	"fmt"
)

// Sign returns the authority's signature on a text, as `openssl dgst -sha256
// -verify` takes it. The same text has the same signature, so that an object with
// one in it changes only when the text does. A text is not mistaken for a
// certificate: what is signed of that begins with a tag of ASN.1.
func (a *Authority) Sign(text []byte) ([]byte, error) {
	digest := sha256.Sum256(text)
	signature, err := a.key.Sign(nil, digest[:], crypto.SHA256) // without a source of random bytes: RFC 6979
	if err != nil {
		return nil, fmt.Errorf("signing with %s: %w", a.Certificate.Subject.CommonName, err)
	}
	return signature, nil
}
