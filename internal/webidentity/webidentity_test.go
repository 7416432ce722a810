package webidentity_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"slices"
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

// AWS has only the documents: the token must be valid by them alone.
func TestATokenIsValidByThePublishedDocuments(t *testing.T) {
	for name, generate := range map[jose.SignatureAlgorithm]func() (private, public []byte, err error){
		jose.ES256: webidentity.GenerateKey, jose.RS256: webidentity.GenerateRSAKey,
	} {
		t.Run(string(name), func(t *testing.T) { testToken(t, name, generate) })
	}
}

func testToken(t *testing.T, algorithm jose.SignatureAlgorithm, generate func() (private, public []byte, err error)) {
	private, public, err := generate()
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
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{algorithm})
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
	if keys[0].Algorithm != string(algorithm) {
		t.Errorf("the published key is for %s, and signs with %s", keys[0].Algorithm, algorithm)
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
		"a clock that is 10 minutes slow": {noon.Add(-10 * time.Minute), true},
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

func TestDiscoveryNamesTheKeySetAndItsAlgorithms(t *testing.T) {
	_, former, _ := webidentity.GenerateRSAKey()
	_, current, _ := webidentity.GenerateKey()
	for algorithms, keys := range map[string][]byte{
		`["RS256"]`: former, `["ES256"]`: current, `["ES256","RS256"]`: slices.Concat(current, former, current),
	} {
		doc, err := webidentity.Discovery(issuer, keys)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"jwks_uri":"https://documents.example.com/demo/openid/v1/jwks"`, `"id_token_signing_alg_values_supported":` + algorithms} {
			if !bytes.Contains(doc, []byte(want)) {
				t.Errorf("got %s, want %s", doc, want)
			}
		}
	}
}

// A user's key may have any of the formats that kube-apiserver reads.
func TestPublicFromPrivate(t *testing.T) {
	ours, public, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(ours)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(parsed.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	for name, private := range map[string][]byte{"PKCS#8": ours, "SEC 1": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})} {
		got, err := webidentity.PublicFromPrivate(private)
		if err != nil || !bytes.Equal(got, public) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestInvalidKeysAreNamed(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKCS8PrivateKey(ec)
	for name, tc := range map[string]struct{ key, want string }{
		"not PEM": {"secret", "not PEM-encoded"},
		"not a key": {
			string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("rubbish")})),
			"neither PKCS#1 nor PKCS#8 nor SEC 1",
		},
		"a key on another curve": {
			string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
			"on curve P-521, use RSA or P-256",
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

// A key is known by a hash of itself: a document that gives another key the same ID does not have it.
func TestDocumentHasAKey(t *testing.T) {
	_, ours, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	_, theirs, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	ids, err := webidentity.KeyIDs(ours)
	if err != nil {
		t.Fatal(err)
	}
	both, err := webidentity.JWKS(append(bytes.Clone(theirs), ours...))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := webidentity.JWKS(theirs)
	if err != nil {
		t.Fatal(err)
	}
	foreignIDs, err := webidentity.KeyIDs(theirs)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		document []byte
		want     bool
	}{
		"with the key":              {both, true},
		"without the key":           {foreign, false},
		"with a key of the same ID": {bytes.ReplaceAll(foreign, []byte(foreignIDs[0]), []byte(ids[0])), false},
		"not a document":            {[]byte("{"), false},
		"no document":               {nil, false},
	} {
		if got := webidentity.HasKey(tc.document, ids[0]); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
