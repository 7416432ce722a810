package release

import (
	"context"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
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
}

// New returns a Registry.
func New(o Options) *Registry {
	if o.Transport == nil {
		o.Transport = remote.DefaultTransport
	}
	if o.Wait == 0 {
		o.Wait = wait
	}
	return &Registry{Options: o, answers: lru.New(maxAnswers), contents: lru.New(maxContents)}
}

// answer is what a registry said to a question.
type answer struct {
	release *Release
	err     error
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
	q, err := r.question(image, pullSecret)
	if err != nil {
		return nil, explain(image, err)
	}
	a, known := r.remembered(q)
	if !known || !a.until.IsZero() && !r.Clock.Now().Before(a.until) {
		// Who asked first may lose patience, and others wait for the same.
		flight := r.flights.DoChan(q.key, func() (any, error) { return r.ask(context.WithoutCancel(ctx), q), nil })
		ctx, cancel := context.WithTimeout(ctx, r.Wait)
		defer cancel()
		select {
		case <-ctx.Done():
			return nil, explain(image, ctx.Err())
		case result := <-flight:
			a = result.Val.(*answer)
		}
	}
	if a.err != nil {
		return nil, explain(image, a.err)
	}
	named := *a.release
	named.Image = image
	return &named, nil
}

func (r *Registry) remembered(q *question) (*answer, bool) {
	a, ok := r.answers.Get(q.key)
	if !ok {
		return nil, false
	}
	return a.(*answer), true
}

// ask gets an answer and remembers it. An old answer is better than none: that a registry is away is no reason to doubt a tag.
func (r *Registry) ask(ctx context.Context, q *question) *answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := &answer{}
	a.release, a.err = r.look(ctx, q)
	now := r.Clock.Now()
	_, exact := q.ref.(name.Digest)
	switch {
	case a.err != nil:
		a.until = now.Add(failureTTL)
		if old, known := r.remembered(q); known && old.err == nil && IsUnreachable(explain("", a.err)) {
			a.release, a.err = old.release, nil
		}
	case !exact:
		a.until = now.Add(tagTTL)
	}
	r.answers.Add(q.key, a)
	return a
}

// look asks the registry.
func (r *Registry) look(ctx context.Context, q *question) (*Release, error) {
	s, err := q.open(r.Transport)
	if err != nil {
		return nil, err
	}
	// Even for a known digest: whoever asks has to show that he may.
	desc, err := s.Get(ctx, q.ref)
	if err != nil {
		return nil, err
	}
	if c, ok := r.contents.Get(desc.Digest); ok {
		return c.(*content).release, c.(*content).err
	}
	release, err := s.read(ctx, desc)
	if err != nil && explain("", err).Kind != NotRelease {
		return nil, err
	}
	if release != nil {
		for component, image := range release.Components {
			release.Components[component] = r.Overrides.Apply(image)
		}
	}
	r.contents.Add(desc.Digest, &content{release: release, err: err})
	return release, err
}
