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

// Options are what a Registry needs.
type Options struct {
	Clock clock.PassiveClock
	// Overrides say where images are really pulled, releases and their components alike.
	Overrides Overrides
	// Policy restricts which releases are read.
	Policy Policy
	// Wait is how long one who asks waits. What takes longer goes on, and is
	// there when he asks again: a registry that holds the line must not hold up
	// everybody else. 0 is a few seconds.
	Wait time.Duration
	// Transport goes to the registries; nil for the usual one.
	Transport http.RoundTripper
}

// Registry resolves releases over the registry protocol, and remembers them.
type Registry struct {
	Options
	// answers by question: each says which digest it was, or what went wrong.
	answers *lru.Cache
	// contents by digest, as *content.
	contents *lru.Cache
	flights  singleflight.Group
	// downloads are those that run: a payload may be a gibibyte, and more when it
	// is unpacked.
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
	return &Registry{Options: o, answers: lru.New(maxAnswers), contents: lru.New(maxContents), downloads: make(chan struct{}, maxDownloads)}
}

// answer is what a registry said to a question: a digest, or an error. It does not keep what is under the digest: that
// many answers would be too much memory.
type answer struct {
	digest v1.Hash
	err    error
	// until is when to ask again; never, if it is zero.
	until time.Time
}

// content is what there is under a digest: a release, or proof that it is none.
type content struct {
	release *Release
	err     error
}

// Resolve implements Resolver.
func (r *Registry) Resolve(ctx context.Context, image string, pullSecret []byte) (*Release, error) {
	return r.resolveFrom(ctx, image, image, pullSecret)
}

// resolveFrom resolves an image that is pulled from one of its mirrors. The policy of the installation is about the image.
func (r *Registry) resolveFrom(ctx context.Context, mirror, image string, pullSecret []byte) (*Release, error) {
	if err := r.Policy.Repositories.allow(image); err != nil {
		return nil, explain(image, err)
	}
	q, err := r.question(mirror, pullSecret)
	if err != nil {
		return nil, explain(image, err)
	}
	c, known := r.remembered(q, r.Clock.Now())
	if !known {
		// Who asked first may lose patience, and others wait for the same.
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

// remembered is the last answer, if it was good until then.
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

// ask gets an answer and remembers it. An old answer is better than none: that a registry is away is no reason to doubt a tag.
func (r *Registry) ask(ctx context.Context, q *question) *content {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, now := &answer{}, r.Clock.Now()
	c, err := r.look(ctx, q, a)
	_, exact := q.ref.(name.Digest)
	switch {
	case err != nil:
		a.err, a.until = err, now.Add(failureTTL)
		c = &content{err: err}
		if old, ok := r.answers.Get(q.key); ok && IsUnreachable(explain("", err)) {
			if was, ok := r.content(old.(*answer).digest); ok {
				a.digest, a.err, c = old.(*answer).digest, nil, was
			}
		}
	case exact:
	case c.err != nil:
		a.until = now.Add(failureTTL) // somebody may be about to move the tag to what he meant
	default:
		a.until = now.Add(tagTTL)
	}
	r.answers.Add(q.key, a)
	return c
}

// look asks the registry, and fills in the digest that it names.
func (r *Registry) look(ctx context.Context, q *question, a *answer) (*content, error) {
	s, err := q.open(r.Transport)
	if err != nil {
		return nil, err
	}
	// Even for a known digest: whoever asks has to show that he may.
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

// download waits until there is room for one more. What waits too long has no
// answer in time, and asks again.
func (r *Registry) download(ctx context.Context) (done func(), err error) {
	select {
	case r.downloads <- struct{}{}:
		return func() { <-r.downloads }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
