// Package signature verifies signatures of container images in the two forms in which cosign stores them next to an image:
//
//	bundle          OCI referrers of the image with a Sigstore bundle: a DSSE envelope around an in-toto statement about the digest
//	simple signing  tag sha256-<digest>.sig in the repository of the image: signed JSON that names the digest
//
// Keys are verified by Sigstore's library. Certificates of Fulcio and the Rekor log are not supported: they need connections to
// services outside of the management cluster (hack/decisions/0043-release-acceptance.md).
//
// https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
// https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md
package signature

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	sigstore "github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
)

const (
	// bundlePrefix starts the media types of Sigstore bundles; the version follows.
	bundlePrefix = "application/vnd.dev.sigstore.bundle.v0."
	// signatureAnnotation of a layer holds the signature over its content, in base64.
	signatureAnnotation = "dev.cosignproject.cosign/signature"

	// maxSignatures and maxContent bound the reads from a repository that a stranger may write to.
	maxSignatures = 32
	maxContent    = 1 << 20
)

// ParseKeys parses public keys in PEM, one after the other: ECDSA, RSA or Ed25519.
func ParseKeys(text []byte) ([]crypto.PublicKey, error) {
	var keys []crypto.PublicKey
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		key, err := cryptoutils.UnmarshalPEMToPublicKey(pem.EncodeToMemory(block))
		if err != nil {
			return nil, fmt.Errorf("parsing public key %d: %w", len(keys)+1, err)
		}
		if _, err := sigstore.LoadVerifier(key, crypto.SHA256); err != nil {
			return nil, fmt.Errorf("using public key %d: %w", len(keys)+1, err)
		}
		keys, text = append(keys, key), rest
	}
	if len(bytes.TrimSpace(text)) > 0 {
		return nil, errors.New("parsing public keys: there is text that is not PEM")
	}
	return keys, nil
}

// Verify reports whether one of the keys has signed the image. An error means that this could not be determined, for example
// because the registry did not answer.
func Verify(ctx context.Context, options []remote.Option, image name.Digest, keys []crypto.PublicKey) (bool, error) {
	r := reader{options: append(slices.Clone(options), remote.WithContext(ctx)), image: image, keys: keys}
	for _, form := range []func() (bool, error){r.bundles, r.simpleSignatures} {
		if signed, err := form(); err != nil || signed {
			return signed, err
		}
	}
	return false, nil
}

// reader reads the signatures of one image.
type reader struct {
	options []remote.Option
	image   name.Digest
	keys    []crypto.PublicKey
}

// bundles searches for a valid bundle among the referrers of the image.
func (r reader) bundles() (bool, error) {
	index, err := remote.Referrers(r.image, r.options...)
	if err != nil {
		return false, absent(fmt.Errorf("listing the referrers of %s: %w", r.image, err))
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return false, absent(fmt.Errorf("listing the referrers of %s: %w", r.image, err))
	}
	read := 0
	for _, referrer := range manifest.Manifests {
		if !strings.HasPrefix(referrer.ArtifactType, bundlePrefix) {
			continue
		}
		if read++; read > maxSignatures {
			return false, nil
		}
		signed, err := r.any(r.image.Context().Digest(referrer.Digest.String()), r.validBundle)
		if err != nil || signed {
			return signed, err
		}
	}
	return false, nil
}

// simpleSignatures searches for a valid signature under the tag that cosign derives from the digest.
func (r reader) simpleSignatures() (bool, error) {
	tag := strings.Replace(r.image.DigestStr(), ":", "-", 1) + ".sig"
	return r.any(r.image.Context().Tag(tag), r.validSimpleSignature)
}

// any reports whether a layer of an artifact passes the check. A missing artifact has no layers.
func (r reader) any(artifact name.Reference, valid func(layer v1.Descriptor, content []byte) bool) (bool, error) {
	described, err := remote.Get(artifact, r.options...)
	if err != nil {
		return false, absent(fmt.Errorf("reading %s: %w", artifact, err))
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(described.Manifest))
	if err != nil {
		return false, nil //nolint:nilerr // an invalid manifest is no signature
	}
	for _, layer := range manifest.Layers[:min(len(manifest.Layers), maxSignatures)] {
		if layer.Size > maxContent {
			continue
		}
		content, err := r.content(layer)
		if err != nil {
			return false, fmt.Errorf("reading %s: %w", artifact, err)
		}
		if valid(layer, content) {
			return true, nil
		}
	}
	return false, nil
}

func (r reader) content(layer v1.Descriptor) ([]byte, error) {
	blob, err := remote.Layer(r.image.Context().Digest(layer.Digest.String()), r.options...)
	if err != nil {
		return nil, err
	}
	body, err := blob.Compressed()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, maxContent))
}

// validBundle checks a Sigstore bundle: the envelope is signed by one of the keys and its statement is about the image.
func (r reader) validBundle(_ v1.Descriptor, content []byte) bool {
	var bundle struct {
		Envelope json.RawMessage `json:"dsseEnvelope"`
	}
	if json.Unmarshal(content, &bundle) != nil || len(bundle.Envelope) == 0 {
		return false
	}
	var envelope struct {
		Payload []byte `json:"payload"`
	}
	if json.Unmarshal(bundle.Envelope, &envelope) != nil {
		return false
	}
	var statement struct {
		Subject []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if json.Unmarshal(envelope.Payload, &statement) != nil {
		return false
	}
	algorithm, value, _ := strings.Cut(r.image.DigestStr(), ":")
	about := false
	for _, subject := range statement.Subject {
		about = about || subject.Digest[algorithm] == value
	}
	return about && r.signed(bundle.Envelope, nil, func(v sigstore.Verifier) sigstore.Verifier { return dsse.WrapVerifier(v) })
}

// validSimpleSignature checks a layer of cosign's signature image: its content names the image and the annotation holds a signature
// over the content.
func (r reader) validSimpleSignature(layer v1.Descriptor, content []byte) bool {
	var payload struct {
		Critical struct {
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	if json.Unmarshal(content, &payload) != nil || payload.Critical.Image.Digest != r.image.DigestStr() {
		return false
	}
	signed, err := base64.StdEncoding.DecodeString(layer.Annotations[signatureAnnotation])
	return err == nil && r.signed(signed, content, func(v sigstore.Verifier) sigstore.Verifier { return v })
}

// signed reports whether one of the keys made the signature over the content.
func (r reader) signed(signed, content []byte, wrap func(sigstore.Verifier) sigstore.Verifier) bool {
	return slices.ContainsFunc(r.keys, func(key crypto.PublicKey) bool {
		verifier, err := sigstore.LoadVerifier(key, crypto.SHA256)
		return err == nil && wrap(verifier).VerifySignature(bytes.NewReader(signed), bytes.NewReader(content)) == nil
	})
}

// absent drops the error of a registry that does not have something.
func absent(err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return nil
	}
	return err
}
