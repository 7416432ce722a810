package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func signer(t testing.TB) *Signer {
	t.Helper()
	s, err := NewSigner("root-ca", "", now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func dataOf(t testing.TB, s *Signer) map[string][]byte {
	t.Helper()
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// again returns the signer that another process decodes from the Secret.
func again(t testing.TB, s *Signer) *Signer {
	t.Helper()
	read, err := DecodeSigner(dataOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestASignerIsStoredWithoutLoss(t *testing.T) {
	good := dataOf(t, signer(t))
	leaf := issue(t, authority(t, "root-ca"), want, DefaultTerms, now).Data(nil)
	for name, c := range map[string]struct {
		spoil func(map[string][]byte)
		lost  bool   // another one may take its place
		says  string // it is for people to judge; "" if it can be read
	}{
		"as it was written":                      {spoil: func(map[string][]byte) {}},
		"without the state of its rotation":      {spoil: func(d map[string][]byte) { delete(d, rotationKey) }},
		"with half of a next one":                {spoil: func(d map[string][]byte) { d[nextCertKey] = d[corev1.TLSCertKey] }},
		"emptied":                                {spoil: func(d map[string][]byte) { clear(d) }, lost: true},
		"without its key":                        {spoil: func(d map[string][]byte) { delete(d, corev1.TLSPrivateKeyKey) }, lost: true},
		"with garbage for a key":                 {spoil: func(d map[string][]byte) { d[corev1.TLSPrivateKeyKey] = []byte("garbage") }, lost: true},
		"without its certificate":                {spoil: func(d map[string][]byte) { delete(d, corev1.TLSCertKey) }, says: "tls.crt: its certificate cannot be read"},
		"with the certificate of another":        {spoil: func(d map[string][]byte) { d[corev1.TLSCertKey] = leaf[corev1.TLSCertKey] }, says: "tls.crt: its key is not that of its certificate"},
		"with a pair that is no authority":       {spoil: func(d map[string][]byte) { maps.Copy(d, leaf); d[TrustKey] = d[corev1.TLSCertKey] }, says: "tls.crt: its certificate is not that of an authority"},
		"with garbage for what is to be trusted": {spoil: func(d map[string][]byte) { d[TrustKey] = []byte("garbage") }, says: "ca.crt: it has no certificate in PEM"},
		"without what is to be trusted":          {spoil: func(d map[string][]byte) { delete(d, TrustKey) }, says: "ca.crt: it has no certificate in PEM"},
		"with a certificate that is cut off":     {spoil: func(d map[string][]byte) { d[corev1.TLSCertKey] = d[corev1.TLSCertKey][:200] }, says: "tls.crt: its certificate cannot be read"},
		"with bytes that only look like one": {spoil: func(d map[string][]byte) {
			d[TrustKey] = pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: []byte("x")})
		}, says: "ca.crt: certificate 1: "},
		"with its key among what is to be trusted": {spoil: func(d map[string][]byte) { d[TrustKey] = append(d[TrustKey], d[corev1.TLSPrivateKeyKey]...) }, says: "ca.crt: it has a PEM block of type PRIVATE KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			data := maps.Clone(good)
			c.spoil(data)
			s, err := DecodeSigner(data)
			var lost *LostKeyError
			switch {
			case errors.As(err, &lost) != c.lost:
				t.Fatalf("got %v, and its key is lost: %v", err, c.lost)
			case c.lost:
			case c.says == "" && err != nil, c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)):
				t.Fatalf("got %v, want %q", err, c.says)
			case c.says == "" && !bytes.Equal(s.Trust(), good[TrustKey]):
				t.Error("something else is trusted than before")
			case c.says == "" && s.Retired.Before(now.Add(-time.Hour)):
				t.Errorf("what nodes have of an old one would be forgotten: it retired %s", s.Retired)
			}
			if err != nil && strings.Contains(err.Error(), "PRIVATE KEY--") {
				t.Errorf("tells the key: %v", err)
			}
		})
	}
}

// Somebody may have brought an authority, with a key as other tools write it.
func TestKeysInOtherFormatsAreRead(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"SEC 1":   {Type: "EC PRIVATE KEY", Bytes: sec1},
		"PKCS #1": {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)},
	} {
		if _, err := parseKey(pem.EncodeToMemory(block)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecodeSigner(f *testing.F) {
	s := signer(f)
	var err error
	if s.Next, err = NewAuthority("root-ca", now.Add(time.Hour)); err != nil {
		f.Fatal(err)
	}
	good := dataOf(f, s)
	f.Add(good[corev1.TLSCertKey], good[corev1.TLSPrivateKeyKey], good[TrustKey], good[nextCertKey], good[nextKeyKey], good[rotationKey])
	f.Add([]byte(nil), []byte(nil), []byte(nil), []byte(nil), []byte(nil), []byte(nil))
	f.Add(good[TrustKey], good[nextKeyKey], good[corev1.TLSCertKey], []byte(nil), []byte(nil), []byte("{}"))
	f.Fuzz(func(t *testing.T, cert, key, trust, nextCert, nextKey, rotation []byte) {
		data := map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key, TrustKey: trust, nextCertKey: nextCert, nextKeyKey: nextKey, rotationKey: rotation}
		read, err := DecodeSigner(data)
		if err != nil {
			return
		}
		// A readable signer is written in one way, or it would be written again and again.
		written, err := read.Data()
		if err != nil {
			return // a year that JSON does not know
		}
		if diff := cmpData(written, dataOf(t, again(t, read))); diff != "" {
			t.Errorf("%s is another after it was read again", diff)
		}
		_, _ = Evaluate(data, want, read.Current, DefaultTerms, now)
		_ = CertificateIn(trust)
	})
}

// cmpData names the first key under which two Secrets differ.
func cmpData(a, b map[string][]byte) string {
	for key := range maps.Keys(a) {
		if !bytes.Equal(a[key], b[key]) {
			return key
		}
	}
	return ""
}
