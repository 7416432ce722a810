package pki

import (
	"crypto/x509"
	"testing"
	"time"
)

func revoke(t *testing.T, s *Signer, id string, trusted bool, want Turn) {
	t.Helper()
	turn, err := s.Revoke("break-glass", id, trusted, now)
	if err != nil || turn != want {
		t.Fatalf("%q: turn %q, %v; want %q", id, turn, err, want)
	}
}

func accepts(s *Signer, leaf *x509.Certificate) bool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.Trust())
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err == nil
}

func clientOf(t *testing.T, a *Authority) *x509.Certificate {
	t.Helper()
	return issue(t, a, Request{User: "someone", Usage: Client}, DefaultTerms, now).Certificate
}

// Each step is read again from the Secret, as by another process.
func TestRevocationEndsWithoutTheFormerAuthority(t *testing.T) {
	s := signer(t)
	former := s.Current.Certificate
	before := clientOf(t, s.Current)

	revoke(t, s, "1", false, Introduced)
	s = again(t, s)
	if s.Revoked("1") || !s.Current.Certificate.Equal(former) || !accepts(s, before) {
		t.Error("the next authority signs before it is trusted")
	}
	during := clientOf(t, s.Issuer())
	revoke(t, s, "1", false, NoTurn)

	revoke(t, s, "1", true, Switched)
	s = again(t, s)
	if !s.Revoked("1") || !accepts(s, before) || !s.Trusts(former) {
		t.Error("the former authority is dropped together with the switch")
	}

	revoke(t, s, "1", true, Finished)
	s = again(t, s)
	if accepts(s, before) || s.Trusts(former) || s.Rotating() {
		t.Error("the former authority is trusted after the revocation")
	}
	if !accepts(s, during) || !accepts(s, clientOf(t, s.Issuer())) {
		t.Error("a certificate that was issued during the revocation, or after it, is refused")
	}
	revoke(t, s, "1", true, NoTurn)

	signing := s.Current.Certificate
	revoke(t, s, "2", true, Introduced) // trusted is about another authority
	revoke(t, s, "2", true, Switched)
	if s = again(t, s); s.Current.Certificate.Equal(signing) || !s.Revoked("2") || s.Revoked("1") {
		t.Error("a second revocation has no authority of its own")
	}
}

// Certificates of the time before an unfinished rotation are revoked, too.
func TestRevocationDuringARotation(t *testing.T) {
	timing := Timing{Lives: 36 * time.Hour}
	for name, rotated := range map[string]int{"the next authority is introduced": 1, "the former authority is still trusted": 2} {
		s := signer(t)
		old := []*x509.Certificate{clientOf(t, s.Current)}
		for range rotated {
			if _, err := s.Advance("break-glass", "asked", true, timing, now); err != nil {
				t.Fatal(err)
			}
		}
		old = append(old, clientOf(t, s.Current))
		revoke(t, s, "1", false, Introduced)
		revoke(t, s, "1", true, Switched)
		revoke(t, s, "1", true, Finished)
		for i, leaf := range old {
			if accepts(s, leaf) {
				t.Errorf("%s: certificate %d is accepted", name, i)
			}
		}
	}
}

// The Secret may lose the next authority, or be deleted: the revocation goes on with another one.
func TestRevocationSurvivesTheLossOfItsAuthority(t *testing.T) {
	s := signer(t)
	revoke(t, s, "1", false, Introduced)
	s.Next = nil
	revoke(t, s, "1", true, Introduced)
	revoke(t, s, "1", true, Switched)

	s = signer(t)
	revoke(t, s, "1", false, Introduced)
	s = signer(t)
	revoke(t, s, "1", true, Introduced)
	if s.Revoked("1") {
		t.Error("another authority counts as the result of a revocation that has not seen it")
	}
}

// A request that is deleted leaves a rotation, which ends as every other one.
func TestGivenUpRevocationIsARotation(t *testing.T) {
	s := signer(t)
	before := clientOf(t, s.Current)
	revoke(t, s, "1", false, Introduced)
	during := clientOf(t, s.Issuer())
	for _, want := range []Turn{Switched, NoTurn} {
		turn, err := s.Advance("break-glass", "", true, Timing{Lives: time.Hour}, now)
		if err != nil || turn != want {
			t.Fatalf("turn %q, %v; want %q", turn, err, want)
		}
		if !accepts(s, before) || !accepts(s, during) {
			t.Error("a certificate is refused although nothing is revoked")
		}
	}
}
