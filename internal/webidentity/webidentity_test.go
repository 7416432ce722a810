package webidentity_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

const issuer = "https://documents.example.com/demo"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// AWS has nothing but the documents: the token must be good by them alone.
func TestATokenIsValidByThePublishedDocuments(t *testing.T) {
	private, public, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := webidentity.NewSigner(private, issuer, clocktesting.NewFakePassiveClock(noon))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signer.Token("system:serviceaccount:kube-system:a", "openshift", 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := webidentity.JWKS(public)
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(doc, &set); err != nil {
		t.Fatal(err)
	}
	keys := set.Key(token.Headers[0].KeyID)
	if len(keys) != 1 {
		t.Fatalf("%d published keys have the id of the token, want 1", len(keys))
	}
	var claims jwt.Claims
	if err := token.Claims(keys[0].Key, &claims); err != nil {
		t.Fatal(err)
	}
	want := jwt.Expected{Issuer: issuer, Subject: "system:serviceaccount:kube-system:a", AnyAudience: jwt.Audience{"openshift"}}
	for name, tc := range map[string]struct {
		at   time.Time
		good bool
	}{
		"a clock that is a little behind": {noon.Add(-50 * time.Second), true},
		"at once":                         {noon, true},
		"until it expires":                {noon.Add(10 * time.Minute), true},
		"not after":                       {noon.Add(10*time.Minute + time.Second), false},
	} {
		if err := claims.ValidateWithLeeway(want.WithTime(tc.at), 0); (err == nil) != tc.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJWKSHasEveryKeyOfARotation(t *testing.T) {
	_, first, _ := webidentity.GenerateKey()
	_, second, _ := webidentity.GenerateKey()
	doc, err := webidentity.JWKS(append(bytes.Clone(first), second...))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(doc, []byte(`"kid"`)); n != 2 {
		t.Errorf("%d keys published, want 2: %s", n, doc)
	}
}

func TestDiscoveryNamesTheKeySet(t *testing.T) {
	doc, err := webidentity.Discovery(issuer)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(doc, []byte(`"jwks_uri":"https://documents.example.com/demo/openid/v1/jwks"`)) {
		t.Errorf("got %s", doc)
	}
}

func TestInvalidKeysAreNamed(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKCS8PrivateKey(ec)
	for name, tc := range map[string]struct{ key, want string }{
		"not PEM": {"secret", "not PEM-encoded"},
		"not a key": {
			string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("rubbish")})),
			"neither PKCS#1 nor PKCS#8",
		},
		"a key that AWS does not take": {
			string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
			"AWS takes RSA",
		},
	} {
		_, err := webidentity.NewSigner([]byte(tc.key), issuer, clocktesting.NewFakePassiveClock(noon))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	if _, err := webidentity.JWKS([]byte("nothing")); err == nil {
		t.Error("an empty key set was published")
	}
}
