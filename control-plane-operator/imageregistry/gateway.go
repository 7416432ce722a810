package imageregistry

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// GatewayCommand is the name of the subcommand.
const GatewayCommand = "image-registry-gateway"

// A Gateway lets users and nodes access the registry of the pod.
type Gateway struct {
	// Listen is the address for clients, and Certificate the directory with tls.crt and tls.key.
	Listen, Certificate string
	// Registry is the URL of the registry.
	Registry string

	registry http.Handler
	reviewer *reviewer
	lease    *observedLease
}

// ParseGateway reads the arguments after the name of the subcommand.
func ParseGateway(args []string) (*Gateway, error) {
	g := &Gateway{}
	fs := flag.NewFlagSet(GatewayCommand, flag.ContinueOnError)
	fs.StringVar(&g.Listen, "listen", ":8443", "address for clients")
	fs.StringVar(&g.Certificate, "certificate", "", "directory with tls.crt and tls.key")
	fs.StringVar(&g.Registry, "registry", "", "URL of the registry, such as http://127.0.0.1:5000")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if g.Certificate == "" || g.Registry == "" {
		return nil, errors.New("--certificate and --registry are needed")
	}
	return g, nil
}

// shutdownTime is how long requests may take when the pod stops.
const shutdownTime = 50 * time.Second

// Run serves until ctx ends.
func (g *Gateway) Run(ctx context.Context) error {
	at, err := url.Parse(g.Registry)
	if err != nil {
		return fmt.Errorf("--registry: %w", err)
	}
	c, err := inCluster()
	if err != nil {
		return err
	}
	g.use(at, c, clock.RealClock{}.Now)
	server := &http.Server{
		Addr: g.Listen, Handler: g, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12},
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }, // it has the logger
		ErrorLog:    slog.NewLogLogger(logr.ToSlogHandler(logr.FromContextOrDiscard(ctx)), slog.LevelInfo),
	}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		stopped <- server.Shutdown(last)
	})
	err = server.ListenAndServeTLS(g.Certificate+"/tls.crt", g.Certificate+"/tls.key")
	if errors.Is(err, http.ErrServerClosed) {
		return <-stopped
	}
	return err
}

// use sets the registry and the API server.
func (g *Gateway) use(registry *url.URL, c *cluster, now func() time.Time) {
	g.reviewer, g.lease = newReviewer(c, now), &observedLease{cluster: c, now: now}
	g.registry = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(registry)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("X-Forwarded-Proto", "https")
			r.Out.Header.Del("Authorization")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, "UNAVAILABLE", "the registry does not answer: "+err.Error())
		},
	}
}

// ServeHTTP passes a request to the registry if the API server allows it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/livez":
		return
	case "/readyz":
		r.URL.Path = "/" // the registry answers it while its bucket is reached
		g.registry.ServeHTTP(w, r)
		return
	}
	wanted, known := accesses(r)
	if !known {
		refuse(w, http.StatusNotFound, "NAME_INVALID", "the registry has only repositories with names such as <namespace>/<name>")
		return
	}
	if len(wanted) == 0 {
		wanted = []access{{}} // by the root, a client checks its credentials
	}
	token, err := credentials(r)
	if err != nil {
		challenge(w, err.Error())
		return
	}
	for _, a := range wanted {
		d, err := g.reviewer.review(r.Context(), token, a)
		switch {
		case err != nil:
			unavailable(w, r, err)
			return
		case !d.authenticated && !d.allowed:
			challenge(w, "the password is not a token for the API server of the cluster")
			return
		case !d.allowed:
			refuse(w, http.StatusForbidden, "DENIED", denial(d.username, a))
			return
		}
	}
	if writes(r) {
		switch held, err := g.lease.held(r.Context()); {
		case err != nil:
			unavailable(w, r, err)
			return
		case held:
			w.Header().Set("Retry-After", "60")
			refuse(w, http.StatusServiceUnavailable, "UNAVAILABLE", "the registry accepts no images during its garbage collection: try again in some minutes")
			return
		}
	}
	g.registry.ServeHTTP(w, r)
}

// denial is the message about a missing permission.
func denial(username string, a access) string {
	if a.namespace == "" {
		return fmt.Sprintf("user %s may not %s %s.%s", username, a.verb, resource, group)
	}
	return fmt.Sprintf("user %s may not %s %s/%s: bind the ClusterRole hypershift:image-pusher, or edit, in namespace %s", username, a.verb, a.namespace, a.name, a.namespace)
}

// credentials returns the token of a request, or "" without credentials.
func credentials(r *http.Request) (token string, err error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return "", nil
	}
	if _, password, ok := r.BasicAuth(); ok && password != "" {
		return password, nil
	}
	if token, ok := strings.CutPrefix(header, "Bearer "); ok && token != "" {
		return token, nil
	}
	return "", errors.New("the credentials are neither a password nor a token")
}

// unavailable refuses a request because the API server does not answer.
func unavailable(w http.ResponseWriter, r *http.Request, err error) {
	logr.FromContextOrDiscard(r.Context()).Error(err, "The API server does not answer")
	refuse(w, http.StatusServiceUnavailable, "UNAVAILABLE", "the API server of the cluster does not answer, so that the registry cannot check permissions: try again")
}

// challenge asks for credentials.
func challenge(w http.ResponseWriter, message string) {
	w.Header().Set("WWW-Authenticate", `Basic realm="image registry: the password is a token for the API server"`)
	refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", message)
}

// refuse answers with an error of the registry API: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#error-codes.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text := json.NewEncoder(w)
	text.SetEscapeHTML(false)
	_ = text.Encode(map[string]any{"errors": []map[string]string{{"code": code, "message": message}}}) // the client may be gone
}
