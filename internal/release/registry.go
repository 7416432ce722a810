package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// A question is a request for a payload, with the credentials of the caller.
type question struct {
	// ref is where it is pulled from.
	ref  name.Reference
	auth authn.Authenticator
	// pullSecret holds the credentials for other repositories that the payload names.
	pullSecret []byte
	// key is equal for requests with the same image and the same credentials.
	key string
}

func (r *Registry) question(image string, pullSecret []byte) (*question, error) {
	place := r.Overrides.Apply(image)
	ref, err := name.ParseReference(place)
	if err != nil {
		return nil, &failure{kind: InvalidReference, detail: "write it as registry/repository:tag or registry/repository@sha256:…", err: err}
	}
	auth, credential, err := credentials(pullSecret, ref.Context())
	if err != nil {
		return nil, err
	}
	return &question{ref: ref, auth: auth, pullSecret: pullSecret, key: credential + " " + ref.Name()}, nil
}

// A session reads from one repository with one set of credentials.
type session struct {
	*remote.Puller
	// remote holds the options for requests to the registry.
	remote     []remote.Option
	repository name.Repository
	pulled     int64
}

// open sends no request yet.
func (q *question) open(transport http.RoundTripper) (*session, error) {
	options := options(q.auth, transport)
	puller, err := remote.NewPuller(options...)
	return &session{Puller: puller, remote: options, repository: q.ref.Context()}, err
}

func options(auth authn.Authenticator, transport http.RoundTripper) []remote.Option {
	return []remote.Option{
		remote.WithAuth(auth),
		remote.WithTransport(transport),
		remote.WithUserAgent("hypershift"),
		// The caller retries with its own back-off.
		remote.WithRetryBackoff(remote.Backoff{Duration: 100 * time.Millisecond, Steps: 2}),
		remote.WithRetryStatusCodes(),
	}
}

// image returns the manifest of an image. For an index it returns one of its images: the files of a payload are the same in
// all.
func (s *session) image(ctx context.Context, desc *remote.Descriptor) (*v1.Manifest, error) {
	raw := desc.Manifest
	if desc.MediaType.IsIndex() {
		index, err := v1.ParseIndexManifest(bytes.NewReader(raw))
		if err != nil {
			return nil, notRelease("its index cannot be read")
		}
		digest := choose(index)
		if digest == "" {
			return nil, notRelease("its index has no image")
		}
		of, err := s.Get(ctx, s.repository.Digest(digest))
		if err != nil {
			return nil, err
		}
		desc, raw = of, of.Manifest
	}
	if !desc.MediaType.IsImage() {
		return nil, notRelease("it is no container image but %q", clip(string(desc.MediaType)))
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, notRelease("its manifest cannot be read")
	}
	return manifest, nil
}

// choose returns the image for the most common platform, or the first image, except for attestations.
func choose(index *v1.IndexManifest) string {
	first := ""
	for _, m := range index.Manifests {
		switch {
		case !m.MediaType.IsImage():
		case m.Platform != nil && m.Platform.OS == "linux" && m.Platform.Architecture == "amd64":
			return m.Digest.String()
		case first == "" && (m.Platform == nil || m.Platform.OS != "unknown"):
			first = m.Digest.String()
		}
	}
	return first
}

// read returns the release in an image.
func (s *session) read(ctx context.Context, desc *remote.Descriptor) (*Release, error) {
	manifest, err := s.image(ctx, desc)
	if err != nil {
		return nil, err
	}
	if len(manifest.Layers) > maxLayers {
		return nil, notRelease("it has %d layers", len(manifest.Layers))
	}
	found := &files{}
	for i := len(manifest.Layers) - 1; i >= 0 && !found.complete(); i-- {
		// Only from the repository itself: a manifest could name any address for a layer.
		if err := s.blob(ctx, manifest.Layers[i], found.add); err != nil {
			return nil, err
		}
	}
	if found.content[references] == nil {
		return nil, notRelease("it has no %s", referencesFile)
	}
	r, err := decodeReferences(found.content[references])
	if err != nil {
		return nil, err
	}
	if text := found.content[bootImages]; text != nil {
		if r.BootImages, err = decodeBootImages(text); err != nil {
			return nil, err
		}
	}
	switch {
	case r.Architecture != "":
	case desc.MediaType.IsIndex():
		r.Architecture = hyperv1.Multi
	default:
		r.Architecture, err = s.architecture(ctx, manifest)
	}
	r.Digest = desc.Digest.String()
	return r, err
}

// architecture returns the architecture of the image itself.
func (s *session) architecture(ctx context.Context, manifest *v1.Manifest) (hyperv1.PayloadArchType, error) {
	var text bytes.Buffer
	err := s.blob(ctx, manifest.Config, func(r io.Reader) error {
		_, err := io.Copy(&text, &limitedReader{r: r, left: maxFile, message: fmt.Sprintf("its configuration has more than %d MiB", maxFile>>20)})
		return err
	})
	if err != nil {
		return "", err
	}
	var config struct {
		Architecture string `json:"architecture"`
	}
	if err := json.Unmarshal(text.Bytes(), &config); err != nil {
		return "", notRelease("its configuration is not JSON")
	}
	return payloadArchitectures[config.Architecture], nil
}

// blob calls use with one blob. An error of use is a fault of the payload, unless the transmission failed.
func (s *session) blob(ctx context.Context, desc v1.Descriptor, use func(io.Reader) error) error {
	layer, err := s.Layer(ctx, s.repository.Digest(desc.Digest.String()))
	if err != nil {
		return err
	}
	body, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer body.Close()
	wire := &wire{r: &limitedReader{r: body, left: maxPulled - s.pulled, message: fmt.Sprintf("its layers have more than %d GiB", maxPulled>>30)}}
	err = use(wire)
	s.pulled += wire.n
	var f *failure
	switch {
	case wire.err != nil:
		return fmt.Errorf("reading %s: %w", desc.Digest, wire.err)
	case err != nil && !errors.As(err, &f):
		return notRelease("%v", err)
	}
	return err
}

// wire records how the transmission ended.
type wire struct {
	r   io.Reader
	n   int64
	err error
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
