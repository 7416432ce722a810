package release_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	sigstore "github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// under returns the same registry, read under a policy.
func (e *fakeRegistry) under(p release.Policy) *fakeRegistry {
	return &fakeRegistry{e.Registry, e.clock, release.New(release.Options{Clock: e.clock, Wait: time.Minute, Policy: p})}
}

// outcome returns the kind of error with which a release is refused, or "".
func (e *fakeRegistry) outcome(t *testing.T, image string) release.Kind {
	_, err := e.releases.Resolve(t.Context(), image, nil)
	return release.KindOf(err)
}

func TestReleasesComeFromAllowedRepositories(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "vendor/release:1", kubernetes())
	for allowed, want := range map[string]release.Kind{
		"":                                    "",
		e.Host:                                "",
		e.Host + "/vendor":                    "",
		e.Host + "/vendor/release":            "",
		"quay.io/other," + e.Host + "/vendor": "",
		e.Host + "/vend":                      release.NotAllowed,
		e.Host + "/vendor/release/more":       release.NotAllowed,
		"quay.io/vendor":                      release.NotAllowed,
	} {
		repositories, err := release.ParseRepositories(allowed)
		if err != nil {
			t.Fatal(err)
		}
		requests := e.asked(func() {
			if got := e.under(release.Policy{Repositories: repositories}).outcome(t, image); got != want {
				t.Errorf("allowed %q: %s is %q, want %q", allowed, image, got, want)
			}
		})
		if want == release.NotAllowed && requests > 0 {
			t.Errorf("allowed %q: the registry got %d requests for a release that is refused", allowed, requests)
		}
	}
}

func TestAnAllowedReleaseMayComeFromAMirror(t *testing.T) {
	e := newFakeRegistry(t)
	byDigest, err := e.Digest(t.Context(), e.push(t, "mirror/release:1", kubernetes()))
	if err != nil {
		t.Fatal(err)
	}
	digest := byDigest[strings.Index(byDigest, "@"):]
	sources := []hyperv1.ImageContentSource{{Source: "quay.invalid/vendor", Mirrors: []string{e.Host + "/mirror"}}}
	for allowed, want := range map[string]release.Kind{"quay.invalid/vendor": "", "quay.invalid/other": release.NotAllowed} {
		under := e.under(release.Policy{Repositories: release.Repositories{allowed}}).releases
		_, err := release.From(sources, under).Resolve(t.Context(), "quay.invalid/vendor/release"+digest, nil)
		if got := release.KindOf(err); got != want {
			t.Errorf("allowed %s: %v", allowed, err)
		}
	}
}

func TestAnAllowedRepositoryNamesItsRegistry(t *testing.T) {
	for _, text := range []string{"vendor/release", "quay.io/vendor:1", "quay.io/vendor@sha256:abc", "quay.io vendor", "library"} {
		if got, err := release.ParseRepositories(text); err == nil {
			t.Errorf("%q was accepted as %v", text, got)
		}
	}
}

// signer signs images as cosign does.
type signer struct {
	t       *testing.T
	private *ecdsa.PrivateKey
}

func newSigner(t *testing.T) signer {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{t, private}
}

func (s signer) key() crypto.PublicKey { return s.private.Public() }

func (s signer) signer() sigstore.Signer {
	s.t.Helper()
	sign, err := sigstore.LoadSigner(s.private, crypto.SHA256)
	if err != nil {
		s.t.Fatal(err)
	}
	return sign
}

// simple pushes a signature in the simple signing form over a claim about a digest.
func (s signer) simple(image name.Digest, claim string) {
	s.t.Helper()
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, claim)
	signed, err := s.signer().SignMessage(strings.NewReader(string(payload)))
	if err != nil {
		s.t.Fatal(err)
	}
	artifact, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signed)},
	})
	s.write(err, image.Context().Tag(strings.Replace(image.DigestStr(), ":", "-", 1)+".sig"), artifact)
}

// bundle pushes a Sigstore bundle over a claim about a digest as a referrer of the image.
func (s signer) bundle(image name.Digest, claim string) {
	s.t.Helper()
	statement := fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`, strings.TrimPrefix(claim, "sha256:"))
	envelope, err := dsse.WrapSigner(s.signer(), "application/vnd.in-toto+json").SignMessage(strings.NewReader(string(statement)))
	if err != nil {
		s.t.Fatal(err)
	}
	const kind = "application/vnd.dev.sigstore.bundle.v0.3+json"
	content, err := json.Marshal(map[string]any{"mediaType": kind, "dsseEnvelope": json.RawMessage(envelope)})
	if err != nil {
		s.t.Fatal(err)
	}
	subject, err := remote.Head(image)
	if err != nil {
		s.t.Fatal(err)
	}
	artifact, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), kind), static.NewLayer(content, kind))
	if err != nil {
		s.t.Fatal(err)
	}
	referrer := mutate.Subject(artifact, *subject).(v1.Image)
	digest, err := referrer.Digest()
	s.write(err, image.Context().Digest(digest.String()), referrer)
}

func (s signer) write(err error, ref name.Reference, artifact v1.Image) {
	s.t.Helper()
	if err == nil {
		err = remote.Write(ref, artifact, remote.WithContext(context.Background()))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestAReleaseIsSignedByATrustedKey(t *testing.T) {
	ours, others := newSigner(t), newSigner(t)
	other := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		sign func(image name.Digest)
		want release.Kind
	}{
		"without a signature":                         {func(name.Digest) {}, release.NotSigned},
		"signed in the simple form":                   {func(i name.Digest) { ours.simple(i, i.DigestStr()) }, ""},
		"signed by a bundle":                          {func(i name.Digest) { ours.bundle(i, i.DigestStr()) }, ""},
		"signed by another key":                       {func(i name.Digest) { others.simple(i, i.DigestStr()) }, release.NotSigned},
		"with a bundle of another key":                {func(i name.Digest) { others.bundle(i, i.DigestStr()) }, release.NotSigned},
		"with our signature over another image":       {func(i name.Digest) { ours.simple(i, other) }, release.NotSigned},
		"with our bundle about another image":         {func(i name.Digest) { ours.bundle(i, other) }, release.NotSigned},
		"with a foreign signature and then with ours": {func(i name.Digest) { others.bundle(i, i.DigestStr()); ours.simple(i, i.DigestStr()) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeRegistry(t)
			image := e.push(t, "vendor/release:1", kubernetes())
			c.sign(parsedDigest(t, e, image))
			if got := e.under(release.Policy{Keys: []crypto.PublicKey{ours.key()}}).outcome(t, image); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
			if got := e.outcome(t, image); got != "" {
				t.Errorf("without a policy it is %q", got)
			}
		})
	}
}

func TestARegistryThatDoesNotAnswerIsNotAMissingSignature(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "vendor/release:1", kubernetes())
	e.Wrap(failing("/referrers/"))
	if got := e.under(release.Policy{Keys: []crypto.PublicKey{newSigner(t).key()}}).outcome(t, image); got != release.Unreachable {
		t.Errorf("it is %q", got)
	}
}

func parsedDigest(t *testing.T, e *fakeRegistry, image string) name.Digest {
	t.Helper()
	byDigest, err := e.Digest(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := name.NewDigest(byDigest)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestComponentsAreNamedByDigest(t *testing.T) {
	e := newFakeRegistry(t)
	tagged := e.push(t, "etcd:1", kubernetes())
	want, err := e.Digest(t.Context(), tagged)
	if err != nil {
		t.Fatal(err)
	}
	d := kubernetes()
	d.Components["etcd"] = tagged
	image := e.push(t, "release:1", d)
	if got := e.resolve(t, image, "").Components["etcd"]; got != want {
		t.Errorf("etcd is %s, want %s", got, want)
	}
	d.Components["etcd"] = e.Host + "/etcd:missing"
	incomplete := e.push(t, "release:2", d)
	if _, err := e.releases.Resolve(t.Context(), incomplete, nil); release.KindOf(err) != release.Incomplete || !strings.Contains(err.Error(), "component etcd") {
		t.Errorf("a component that does not exist: %v", err)
	}
}

func TestPin(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for image, want := range map[string]string{
		"quay.io/a/b:1":      "quay.io/a/b@" + digest,
		"quay.io/a/b":        "quay.io/a/b@" + digest,
		"localhost:5000/a:1": "localhost:5000/a@" + digest,
		"localhost:5000/a":   "localhost:5000/a@" + digest,
		"quay.io/a@sha256:" + strings.Repeat("b", 64): "quay.io/a@sha256:" + strings.Repeat("b", 64),
	} {
		if got := release.Pin(image, digest); got != want {
			t.Errorf("%s became %s, want %s", image, got, want)
		}
		if got := release.Pin(image, ""); got != image {
			t.Errorf("%s became %s without a digest", image, got)
		}
	}
}

// failing answers requests for paths with that part with an error of the server.
func failing(part string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.Contains(req.URL.Path, part) {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, req)
		})
	}
}
