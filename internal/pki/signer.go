package pki

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Keys of the Secret of a Signer beside those of a leaf: what signs is under
// corev1.TLSCertKey, a single certificate as programs that sign themselves want
// it, and what is to be trusted under TrustKey.
const (
	nextKeyKey  = "next.key"
	nextCertKey = "next.crt"
	rotationKey = "rotation"
)

// A Signer is an authority over time.
type Signer struct {
	// Current signs.
	Current *Authority
	// Next will sign once everybody trusts it; nil unless there is a rotation.
	Next *Authority
	// Old have signed what may still be in use.
	Old []*x509.Certificate
	// Asked is the request for a rotation that was followed last.
	Asked string
	// Since is when the last step of a rotation was taken, or was last spread.
	Since time.Time
	// Retired is when the last of the old ones signed for the last time.
	Retired time.Time
	// Lives is how long the certificates live that others sign with its key since
	// Limit was called last; 0 for a signer of before that, or of which nobody else
	// has the key.
	Lives time.Duration
	// Outlived is until when what others signed before may be valid, if they made
	// it out for longer than they do now.
	Outlived time.Time
}

// rotation is how a Secret says what certificates cannot.
type rotation struct {
	Asked   string    `json:"asked,omitempty"`
	Since   time.Time `json:"since"`
	Retired time.Time `json:"retired,omitzero"`
	// Lives is in the words of time.Duration.
	Lives    string    `json:"lives,omitempty"`
	Outlived time.Time `json:"outlived,omitzero"`
}

// NewSigner makes a signer. It trusts old, too: what is left of the one before.
func NewSigner(name, asked string, now time.Time, old ...*x509.Certificate) (*Signer, error) {
	authority, err := NewAuthority(name, now)
	if err != nil {
		return nil, err
	}
	return &Signer{Current: authority, Old: old, Asked: asked, Since: now, Retired: now}, nil
}

// A LostKeyError says that a signer cannot sign any more, whoever wanted it.
type LostKeyError struct {
	// Trusted are its certificates, as far as they can be read.
	Trusted []*x509.Certificate
}

func (e *LostKeyError) Error() string { return "its private key is lost" }

// DecodeSigner reads what Data has written. A LostKeyError means that nobody
// loses anything if another signer takes its place; any other error is for
// people to judge.
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
	// One that cannot be read has signed nothing yet.
	s.Next, _ = decodeAuthority(data[nextCertKey], data[nextKeyKey])
	for _, cert := range trusted {
		if !cert.Equal(s.Current.Certificate) && (s.Next == nil || !cert.Equal(s.Next.Certificate)) {
			s.Old = append(s.Old, cert)
		}
	}
	// Who cannot say when the current one began to sign says when it was made.
	s.Since, s.Retired = s.Current.Certificate.NotBefore, s.Current.Certificate.NotBefore
	var r rotation
	if json.Unmarshal(data[rotationKey], &r) == nil {
		s.Asked, s.Since, s.Retired, s.Outlived = r.Asked, r.Since, r.Retired, r.Outlived
		s.Lives, _ = time.ParseDuration(r.Lives) // one that cannot be read is that of before
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

// Trust is what those have to trust who meet a certificate of the signer.
func (s *Signer) Trust() []byte {
	certs := []*x509.Certificate{s.Current.Certificate}
	if s.Next != nil {
		certs = append(certs, s.Next.Certificate)
	}
	return Bundle(append(certs, s.Old...)...)
}

// Data is what the Secret of the signer holds.
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
	r := rotation{Asked: s.Asked, Since: whole(s.Since), Retired: whole(s.Retired), Outlived: whole(s.Outlived)}
	if s.Lives > 0 {
		r.Lives = s.Lives.String()
	}
	return r
}

// Limit records for how long others make out certificates with its key from now
// on. What they have signed before may live for as long as it could then, which
// was for as long as unlimited where nobody has recorded it.
func (s *Signer) Limit(lives, unlimited time.Duration, now time.Time) {
	was := s.Lives
	if was == 0 {
		was = unlimited
	}
	if end := now.Add(was); was > lives && end.After(s.Outlived) {
		s.Outlived = end
	}
	s.Lives = lives
}

// gone is when nothing is valid any more that the old authorities have signed.
func (s *Signer) gone(lives time.Duration) time.Time {
	if gone := s.Retired.Add(lives); gone.After(s.Outlived) {
		return gone
	}
	return s.Outlived
}

// whole leaves whole seconds, as certificates do.
func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// Expired says whether nothing that the signer signs is trusted any more.
func (s *Signer) Expired(now time.Time) bool { return !s.Current.Certificate.NotAfter.After(now) }
