// Package sessions serves the console to many users, each with the user's own rights: every request has a token of the management cluster, and
// the state that it sees is read with this token. The console itself has no rights.
package sessions

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/web"
)

const (
	// maxSessions is how many users can be served at once. Each session has its own watches.
	maxSessions = 50
	// idle is how long a session is kept without a request. A page that is open asks for its time every few seconds.
	idle = 10 * time.Minute
	// maxOpening is how many tokens are checked at once: requests without a valid token must not become load of the API server.
	maxOpening = 8
	// opening is how long the first request of a session may take.
	opening = 30 * time.Second

	tokenCookie     = "__Host-hypershift-console"
	namespaceCookie = "__Host-hypershift-console-namespace"
	// maxToken is the size of the longest token: browsers keep cookies of 4096 bytes.
	maxToken = 3800
)

// Options configure Sessions.
type Options struct {
	// Config reaches the management cluster, without an identity.
	Config *rest.Config
	Clock  clock.WithTicker
	// Pages returns the pages of one user. The store and config have the user's rights. It follows the store until ctx ends.
	Pages func(ctx context.Context, store *watch.Store, config *rest.Config) (http.Handler, error)
}

// Sessions is the handler of all requests.
type Sessions struct {
	Options
	ctx context.Context //nolint:containedctx // the sessions end with it

	// starting limits the sessions that are being opened.
	starting chan struct{}

	mu   sync.Mutex
	open map[[sha256.Size]byte]*session
}

// session is the state that one user sees.
type session struct {
	once sync.Once
	// ctx ends with the session.
	ctx    context.Context //nolint:containedctx // requests come and go
	cancel context.CancelFunc
	// started is closed when pages and store are there, or err.
	started chan struct{}
	pages   http.Handler
	store   *watch.Store
	err     error

	// used is when the last request ended, and streams the number of present ones. Sessions.mu
	used    time.Time
	streams int
}

// rejected is true if the management cluster does not accept the session's token any more.
func (one *session) rejected() bool {
	select {
	case <-one.started:
		return one.store != nil && apierrors.IsUnauthorized(one.store.Health().Err)
	default:
		return false
	}
}

// New returns Sessions, which end with ctx.
func New(ctx context.Context, o Options) *Sessions {
	s := &Sessions{Options: o, ctx: ctx, open: map[[sha256.Size]byte]*session{}, starting: make(chan struct{}, maxOpening)}
	go s.expire(ctx)
	return s
}

// ServeHTTP serves a page to the user of the request's token, or the form that asks for one.
func (s *Sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/login":
		s.login(w, r)
		return
	case "/logout":
		s.logout(w, r)
		return
	case "/assets/" + path.Base(r.URL.Path):
		web.Assets().ServeHTTP(w, r)
		return
	case "/healthz":
		_, _ = w.Write([]byte("ok")) // the probe may have gone
		return
	}
	token, namespace := credentials(r)
	if token == "" {
		loginPage(w, http.StatusUnauthorized, "")
		return
	}
	one, err := s.session(token, namespace)
	if err == nil {
		one.once.Do(func() { s.start(one, token, namespace) })
		err = one.err
	}
	if err == nil && one.rejected() {
		err = errors.New("the token has expired, or was revoked")
	}
	if err != nil {
		s.end(token, namespace)
		forget(w)
		loginPage(w, http.StatusUnauthorized, err.Error())
		return
	}
	defer s.use(one)()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(one.ctx, cancel)() // a page that is open ends with its session
	one.pages.ServeHTTP(w, r.WithContext(ctx))
}

// credentials returns the token of a request: of an authenticating proxy, or of the form. namespace is the only one that the user wants.
func credentials(r *http.Request) (token, namespace string) {
	if c, err := r.Cookie(namespaceCookie); err == nil {
		namespace = c.Value
	}
	if given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found {
		return strings.TrimSpace(given), namespace
	}
	if c, err := r.Cookie(tokenCookie); err == nil {
		token = c.Value
	}
	return token, namespace
}

func keyOf(token, namespace string) [sha256.Size]byte {
	return sha256.Sum256([]byte(token + "\n" + namespace))
}

// session returns the session of a token. The least recently used session without open pages makes room for a new one.
func (s *Sessions) session(token, namespace string) (*session, error) {
	key := keyOf(token, namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[key]; one != nil {
		one.used = s.Clock.Now()
		return one, nil
	}
	if len(s.open) >= maxSessions {
		var oldest [sha256.Size]byte
		var found *session
		for k, one := range s.open {
			if one.streams == 0 && (found == nil || one.used.Before(found.used)) {
				oldest, found = k, one
			}
		}
		if found == nil {
			return nil, errors.New("too many users have pages of the console open: try again later")
		}
		found.cancel()
		delete(s.open, oldest)
	}
	one := &session{used: s.Clock.Now(), started: make(chan struct{})}
	one.ctx, one.cancel = context.WithCancel(s.ctx)
	s.open[key] = one
	return one, nil
}

// start reads everything that the user may see. It returns early if the token is not valid.
func (s *Sessions) start(one *session, token, namespace string) {
	defer close(one.started)
	select {
	case s.starting <- struct{}{}:
		defer func() { <-s.starting }()
	default:
		one.err = errors.New("too many users log in at once: try again")
		return
	}
	config := rest.CopyConfig(s.Config)
	config.BearerToken, config.BearerTokenFile = token, ""
	config.UserAgent = "hypershift-console"
	if one.err = valid(one.ctx, config); one.err != nil {
		return
	}
	// The watches live as long as the session, but the first lists have to end.
	slow := time.AfterFunc(opening, one.cancel)
	store, err := watch.Start(one.ctx, config, watch.Options{Namespace: namespace, Clock: s.Clock})
	inTime := slow.Stop()
	var forbidden *watch.ForbiddenError
	switch {
	case errors.As(err, &forbidden):
		one.err = errors.New("this user may not list the HostedClusters of all namespaces: name a namespace")
	case !inTime:
		one.err = errors.New("the management cluster is too slow: try again later")
	case err != nil:
		one.err = err
	default:
		one.pages, one.err = s.Pages(one.ctx, store, config)
		one.store = store
	}
}

// valid returns an error if the management cluster does not know the token. Without it, a request would be anonymous where that is permitted.
func valid(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	var review authenticationv1.SelfSubjectReview
	err = client.AuthenticationV1().RESTClient().Post().Resource("selfsubjectreviews").Body(&authenticationv1.SelfSubjectReview{}).Do(ctx).Into(&review)
	switch {
	case apierrors.IsUnauthorized(err), err == nil && review.Status.UserInfo.Username == "system:anonymous":
		return errors.New("the management cluster does not accept this token")
	case err != nil:
		return fmt.Errorf("asking the management cluster for the user of the token: %w", err)
	}
	return nil
}

// use counts a request of a session until the returned function is called.
func (s *Sessions) use(one *session) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.streams++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.streams--
		one.used = s.Clock.Now()
	}
}

func (s *Sessions) end(token, namespace string) {
	key := keyOf(token, namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[key]; one != nil {
		one.cancel()
		delete(s.open, key)
	}
}

// expire ends sessions that are idle, and those whose token is not valid any more: their pages may stay open.
func (s *Sessions) expire(ctx context.Context) {
	ticker := s.Clock.NewTicker(idle / 60)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		s.mu.Lock()
		for key, one := range s.open {
			if one.streams == 0 && s.Clock.Since(one.used) > idle || one.rejected() {
				one.cancel()
				delete(s.open, key)
			}
		}
		s.mu.Unlock()
	}
}
