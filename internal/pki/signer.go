package pki

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Keys of the Secret of a Signer in addition to a leaf's keys: corev1.TLSCertKey holds the signing certificate, a single one
// as programs that sign require it, and TrustKey holds the bundle.
const (
	nextKeyKey  = "next.key"
	nextCertKey = "next.crt"
	rotationKey = "rotation"
)

// A Signer is an authority with its predecessors and its successor.
type Signer struct {
	// Current signs.
	Current *Authority
	// Next will sign once every program trusts it; nil without a rotation.
	Next *Authority
	// Old have signed certificates that may still be in use.
	Old []*x509.Certificate
	// Asked is the request of the last rotation.
	Asked string
	// Since is when the last step of a rotation was taken or its propagation was completed.
	Since time.Time
	// Retired is when the last of the old ones stopped signing.
	Retired time.Time
	// Lives is the validity of certificates that other programs sign with its key, as of the last call of Limit; 0 for a
	// signer of earlier versions, or with a key that no other program has.
	Lives time.Duration
	// Outlived is the latest expiry of certificates that other programs signed with a longer validity before.
	Outlived time.Time
	// Revocation is the last revocation, or empty.
	Revocation Revocation
}

// rotation is the part of the state that certificates do not have.
type rotation struct {
	Asked   string    `json:"asked,omitempty"`
	Since   time.Time `json:"since"`
	Retired time.Time `json:"retired,omitzero"`
	// Lives is in the format of time.Duration.
	Lives    string    `json:"lives,omitempty"`
	Outlived time.Time `json:"outlived,omitzero"`

	Revocation Revocation `json:"revocation,omitzero"`
}

// NewSigner creates a signer. It also trusts old, the remaining authorities of a former signer.
func NewSigner(name, requested string, now time.Time, old ...*x509.Certificate) (*Signer, error) {
	authority, err := NewAuthority(name, now)
	if err != nil {
		return nil, err
	}
	return &Signer{Current: authority, Old: old, Asked: requested, Since: now, Retired: now}, nil
}

// A LostKeyError is returned for a signer without its key, so that it can never sign again.
type LostKeyError struct {
	// Trusted has its certificates, as far as they can be read.
	Trusted []*x509.Certificate
}

func (e *LostKeyError) Error() string { return "its private key is lost" }

// DecodeSigner reads the result of Data. After a LostKeyError, another signer can replace it without loss; any other error
// needs a person.
func DecodeSigner(data map[string][]byte) (*Signer, error) {
	trusted, unreadable := ParseBundle(data[TrustKey])
	if _, err := parseKey(data[corev1.TLSPrivateKeyKey]); err != nil {
		return nil, &LostKeyError{Trusted: trusted}
	}
	if unreadable != nil {
		return nil, fmt.Errorf("%s: %w", TrustKey, unreadable)
	}
	s := &Signer{}
	var err error
	if s.Current, err = decodeAuthority(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]); err != nil {
		return nil, fmt.Errorf("%s: %w", corev1.TLSCertKey, err)
	}
	// A next authority that cannot be read has signed no certificate of this program.
	s.Next, _ = decodeAuthority(data[nextCertKey], data[nextKeyKey])
	for _, cert := range trusted {
		if !cert.Equal(s.Current.Certificate) && (s.Next == nil || !cert.Equal(s.Next.Certificate)) {
			s.Old = append(s.Old, cert)
		}
	}
	// A missing time of the last step defaults to the creation of the current authority.
	created := s.Current.Certificate.NotBefore.Add(backdate)
	s.Since, s.Retired = created, created
	var r rotation
	if json.Unmarshal(data[rotationKey], &r) == nil {
		s.Asked, s.Since, s.Retired, s.Outlived, s.Revocation = r.Asked, r.Since, r.Retired, r.Outlived, r.Revocation
		s.Lives, _ = time.ParseDuration(r.Lives) // an unreadable value was written before this field existed
	}
	return s, nil
}

func decodeAuthority(certPEM, keyPEM []byte) (*Authority, error) {
	leaf, err := parseLeaf(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	if !leaf.Certificate.IsCA {
		return nil, errors.New("its certificate is not that of an authority")
	}
	return &Authority{Certificate: leaf.Certificate, key: leaf.key}, nil
}

// Trust returns the bundle for programs that verify certificates of the signer.
func (s *Signer) Trust() []byte {
	certs := []*x509.Certificate{s.Current.Certificate}
	if s.Next != nil {
		certs = append(certs, s.Next.Certificate)
	}
	return Bundle(append(certs, s.Old...)...)
}

// Data returns the data of the Secret of the signer.
func (s *Signer) Data() (map[string][]byte, error) {
	data := map[string][]byte{TrustKey: s.Trust(), corev1.TLSCertKey: Bundle(s.Current.Certificate)}
	var err error
	if data[corev1.TLSPrivateKeyKey], err = encodeKey(s.Current.key); err != nil {
		return nil, err
	}
	if s.Next != nil {
		data[nextCertKey] = Bundle(s.Next.Certificate)
		if data[nextKeyKey], err = encodeKey(s.Next.key); err != nil {
			return nil, err
		}
	}
	if data[rotationKey], err = json.Marshal(s.rotation()); err != nil {
		return nil, err
	}
	return data, nil
}

func (s *Signer) rotation() rotation {
	r := rotation{Asked: s.Asked, Since: whole(s.Since), Retired: whole(s.Retired), Outlived: whole(s.Outlived), Revocation: s.Revocation}
	if s.Lives > 0 {
		r.Lives = s.Lives.String()
	}
	return r
}

// Limit records the validity of certificates that other programs sign with its key from now on. Earlier ones may live for the
// validity that was recorded before, or for unlimited if none was.
func (s *Signer) Limit(lives, unlimited time.Duration, now time.Time) {
	previous := s.Lives
	if previous == 0 {
		previous = unlimited
	}
	if end := now.Add(previous); previous > lives && end.After(s.Outlived) {
		s.Outlived = end
	}
	s.Lives = lives
}

// gone returns when all certificates of the old authorities have expired.
func (s *Signer) gone(lives time.Duration) time.Time {
	if expiry := s.Retired.Add(lives); expiry.After(s.Outlived) {
		return expiry
	}
	return s.Outlived
}

// whole truncates to seconds, as certificates do.
func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// Expired reports whether none of the signer's certificates is trusted any more.
func (s *Signer) Expired(now time.Time) bool { return !s.Current.Certificate.NotAfter.After(now) }
