package release

import (
	"context"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

// Options configure a Registry.
type Options struct {
	Clock clock.PassiveClock
	// Overrides replace the locations from which releases and their components are pulled.
	Overrides Overrides
	// Policy restricts which releases are read.
	Policy Policy
	// Wait is how long a caller waits. A longer request continues, and its result is ready for the next call, so that a slow
	// registry does not block the workers. 0 selects the default of a few seconds.
	Wait time.Duration
	// Transport sends requests to the registries; nil selects the default.
	Transport http.RoundTripper
}

// Registry resolves releases with the registry protocol, and caches them.
type Registry struct {
	Options
	// answers holds the digest or the error of each question.
	answers *lru.Cache
	// contents by digest, as *content.
	contents *lru.Cache
	// programs holds the answers of NodePrograms for images by digest.
	programs *lru.Cache
	flights  singleflight.Group
	// downloads limits parallel downloads: a payload may have a gibibyte, and more when it is unpacked.
	downloads chan struct{}
}

// New returns a Registry.
func New(o Options) *Registry {
	if o.Transport == nil {
		o.Transport = remote.DefaultTransport
	}
	if o.Wait == 0 {
		o.Wait = wait
	}
	return &Registry{Options: o, answers: lru.New(maxAnswers), contents: lru.New(maxContents), programs: lru.New(maxContents), downloads: make(chan struct{}, maxDownloads)}
}

// answer is the result of a question: a digest, or an error. It does not refer to the content of the digest: that many
// contents would need too much memory.
type answer struct {
	digest v1.Hash
	err    error
	// until is when the answer expires; zero means never.
	until time.Time
}

// content is the content of a digest: a release, or the error that it is not a release.
type content struct {
	release *Release
	err     error
}

// Resolve implements Resolver.
func (r *Registry) Resolve(ctx context.Context, image string, pullSecret []byte) (*Release, error) {
	return r.resolveFrom(ctx, image, image, pullSecret)
}

// resolveFrom resolves an image that is pulled from one of its mirrors. The policy of the installation is checked for the
// image.
func (r *Registry) resolveFrom(ctx context.Context, mirror, image string, pullSecret []byte) (*Release, error) {
	if err := r.Policy.Repositories.allow(image); err != nil {
		return nil, explain(image, err)
	}
	q, err := r.question(mirror, pullSecret)
	if err != nil {
		return nil, explain(image, err)
	}
	c, cached := r.remembered(q, r.Clock.Now())
	if !cached {
		// The first caller may time out while others wait for the same call.
		flight := r.flights.DoChan(q.key, func() (any, error) { return r.ask(context.WithoutCancel(ctx), q), nil })
		ctx, cancel := context.WithTimeout(ctx, r.Wait)
		defer cancel()
		select {
		case <-ctx.Done():
			return nil, explain(image, ctx.Err())
		case result := <-flight:
			c = result.Val.(*content)
		}
	}
	if c.err != nil {
		return nil, explain(image, c.err)
	}
	named := *c.release
	named.Image = image
	return &named, nil
}

// remembered returns the cached answer, if it has not expired by then.
func (r *Registry) remembered(q *question, then time.Time) (*content, bool) {
	got, ok := r.answers.Get(q.key)
	if !ok {
		return nil, false
	}
	a := got.(*answer)
	if !a.until.IsZero() && !then.Before(a.until) {
		return nil, false
	}
	if a.err != nil {
		return &content{err: a.err}, true
	}
	return r.content(a.digest)
}

func (r *Registry) content(digest v1.Hash) (*content, bool) {
	c, ok := r.contents.Get(digest)
	if !ok {
		return nil, false
	}
	return c.(*content), true
}

// ask requests an answer and caches it. If the registry is unreachable, an expired answer is still used: the tag has hardly
// moved.
func (r *Registry) ask(ctx context.Context, q *question) *content {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	a, now := &answer{}, r.Clock.Now()
	c, err := r.look(ctx, q, a)
	_, exact := q.ref.(name.Digest)
	switch {
	case err != nil:
		a.err, a.until = err, now.Add(failureTTL)
		c = &content{err: err}
		if old, ok := r.answers.Get(q.key); ok && IsUnreachable(explain("", err)) {
			if previous, ok := r.content(old.(*answer).digest); ok {
				a.digest, a.err, c = old.(*answer).digest, nil, previous
			}
		}
	case exact:
	case c.err != nil:
		a.until = now.Add(failureTTL) // a user may be about to push the tag
	default:
		a.until = now.Add(tagTTL)
	}
	r.answers.Add(q.key, a)
	return c
}

// look requests the digest from the registry, and reads its content.
func (r *Registry) look(ctx context.Context, q *question, a *answer) (*content, error) {
	s, err := q.open(r.Transport)
	if err != nil {
		return nil, err
	}
	// Also for a known digest: each caller has to prove its access.
	desc, err := s.Get(ctx, q.ref)
	if err != nil {
		return nil, err
	}
	a.digest = desc.Digest
	if c, ok := r.content(desc.Digest); ok {
		return c, nil
	}
	if err := r.Policy.verify(ctx, s, s.repository.Digest(desc.Digest.String())); err != nil {
		return nil, err
	}
	done, err := r.download(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	c := &content{}
	if c.release, c.err = s.read(ctx, desc); c.err != nil && explain("", c.err).Kind != NotRelease {
		return nil, c.err
	}
	if c.err == nil {
		if err := r.pin(ctx, q, c.release.Components); err != nil {
			return nil, err
		}
	}
	r.contents.Add(desc.Digest, c)
	return c, nil
}

// download waits for a free slot. A caller that waits too long gets no answer in time, and retries.
func (r *Registry) download(ctx context.Context) (done func(), err error) {
	select {
	case r.downloads <- struct{}{}:
		return func() { <-r.downloads }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
