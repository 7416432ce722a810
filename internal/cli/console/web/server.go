package web

import (
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	g "maragu.dev/gomponents"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/leftovers"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
)

//go:embed assets
var assets embed.FS

// Account is what the leftovers page knows about an AWS account.
type Account struct {
	ID, Region string
	// Clusters are the numbers of tagged resources by infra ID.
	Clusters map[string]int
	// Resources are the resources of one infra ID.
	Resources []leftovers.Resource
}

// Options are the sources of the pages.
type Options struct {
	Clock clock.WithTicker
	// Title names the management cluster, such as the context of the kubeconfig.
	Title string
	// Logout adds a button that ends the session at /logout.
	Logout bool
	// Doctor runs the checks of an installation, or of a cluster if its name is not empty.
	Doctor func(ctx context.Context, cluster types.NamespacedName) ([]prerequisites.Result, error)
	// Leftovers finds resources in AWS: of all clusters, or of one infra ID. nil: there are no AWS credentials.
	Leftovers func(ctx context.Context, infraID string) (Account, error)
	// Change makes a change with the user's rights. nil: changes are not permitted.
	Change func(ctx context.Context, cluster types.NamespacedName, change Change) error
}

// Change is a change of a HostedCluster.
type Change struct {
	// Pause and Resume set and remove spec.pausedUntil. Release is a new spec.release.image.
	Pause, Resume bool
	Release       string
}

// Server serves the pages.
type Server struct {
	Options
	// model is the state that the pages show.
	model  *Model
	checks memo
	finds  memo
	// streams limits the connections of /live.
	streams chan struct{}
}

// maxStreams is how many pages can be live at once. Each costs a goroutine and the last version of the page.
const maxStreams = 64

// NewServer returns a Server that shows model.
func NewServer(o Options, model *Model) *Server {
	return &Server{Options: o, model: model, streams: make(chan struct{}, maxStreams)}
}

// Handler returns the pages. The caller protects them: see Protect.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/{file}", Assets())
	mux.HandleFunc("GET /live", s.live)
	for pattern := range s.pages() {
		mux.HandleFunc("GET "+pattern, s.page)
	}
	if s.Change != nil {
		mux.HandleFunc("POST /clusters/{namespace}/{name}/change", s.change)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "there is no such page: the list of clusters is /", http.StatusNotFound)
	})
	return mux
}

// Serve serves the pages on a listener of this machine until ctx ends. opened gets the address with its token.
func (s *Server) Serve(ctx context.Context, listener net.Listener, opened func(address string)) error {
	token := newToken()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return fmt.Errorf("the address of the console: %w", err)
	}
	// Cookies are not separated by ports.
	handler := Protect(withHosts(loopbackHosts(listener.Addr()), withToken(token, "hypershift-console-"+port, s.Handler())))
	opened(fmt.Sprintf("http://%s/?token=%s", listener.Addr(), token))
	return Listen(ctx, listener, handler)
}

// Listen serves a handler until ctx ends, with limits for slow clients.
func Listen(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: responseTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		if server.Shutdown(stop) != nil {
			_ = server.Close() // ends the connections that are left
		}
	}()
	err := server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		<-ended
		return nil
	}
	return fmt.Errorf("serving the console: %w", err)
}

// Assets serves the files that pages load, below /assets/.
func Assets() http.Handler { return http.HandlerFunc(serveAsset) }

func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	file, err := assets.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	switch {
	case strings.HasSuffix(name, ".css"):
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
	case strings.HasSuffix(name, ".js"):
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	case strings.HasSuffix(name, ".svg"):
		w.Header().Set("Content-Type", "image/svg+xml")
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	_, _ = w.Write(file) //nolint:gosec // a file of this program; the browser may have gone
}

// responseTimeout is how long the checks of a page and a slow browser may take. Events of a live page have deadlines of their own.
const responseTimeout = memoTimeout + 30*time.Second

// page serves a page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	content := s.render(r.Context(), r)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	out := io.Writer(w)
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		zipped := gzip.NewWriter(w)
		defer func() { _ = zipped.Close() }() // the browser may have gone
		out = zipped
	}
	w.WriteHeader(content.status)
	_ = s.layout(r, content).Render(out) // the browser may have gone
}

// content is the part of a page that changes.
type content struct {
	status int
	title  string
	// crumbs are the pages above this one.
	crumbs []link
	main   g.Node
}

type link struct{ text, href string }

type pageFunc func(ctx context.Context, r *http.Request) content

func (s *Server) pages() map[string]pageFunc {
	return map[string]pageFunc{
		"/{$}":                                  s.fleetPage,
		"/clusters/{namespace}/{name}":          s.clusterPage,
		"/clusters/{namespace}/{name}/timeline": s.timelinePage,
		"/clusters/{namespace}/{name}/cost":     s.costPage,
		"/clusters/{namespace}/{name}/doctor":   s.doctorPage,
		"/doctor":                               s.doctorPage,
		"/leftovers":                            s.leftoversPage,
		"/leftovers/{infraID}":                  s.leftoversPage,
	}
}

// render makes the content of the page of a request, whose pattern is known.
func (s *Server) render(ctx context.Context, r *http.Request) content {
	c := s.pages()[strings.TrimPrefix(r.Pattern, "GET ")](ctx, r)
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return c
}

// memo keeps results of slow functions for a while, so that a page that is loaded again does not repeat them.
type memo struct {
	mu      sync.Mutex
	results map[string]*result
}

type result struct {
	once  sync.Once
	at    time.Time
	value any
	err   error
}

const (
	memoAge = 30 * time.Second
	memoMax = 200
	// memoTimeout is how long a slow function may take.
	memoTimeout = time.Minute
)

// do returns the result for key, which is at most memoAge old, and when it began. Concurrent calls wait for the same result, which does not end
// with the first of them.
func (m *memo) do(ctx context.Context, c clock.Clock, key string, f func(context.Context) (any, error)) (any, time.Time, error) {
	m.mu.Lock()
	if m.results == nil || len(m.results) > memoMax {
		m.results = map[string]*result{}
	}
	r := m.results[key]
	if r == nil || c.Since(r.at) > memoAge {
		r = &result{at: c.Now()}
		m.results[key] = r
	}
	m.mu.Unlock()
	r.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), memoTimeout)
		defer cancel()
		r.value, r.err = f(ctx)
	})
	return r.value, r.at, r.err
}
