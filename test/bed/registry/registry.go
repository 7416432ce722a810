// Package registry is a container registry on loopback, inside the process that starts it, for release payloads.
package registry

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hosted-control-planes/hypershift/internal/release/payload"
)

// Registry is a running registry.
type Registry struct {
	// Host is its address, with which the names of its images begin.
	Host string

	server  *http.Server
	content http.Handler

	mu       sync.Mutex
	requests []string
	wrap     func(http.Handler) http.Handler
}

// Start starts an empty registry from which everybody may pull.
func Start() (*Registry, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the registry: %w", err)
	}
	r := &Registry{
		Host:    listener.Addr().String(),
		content: registry.New(registry.Logger(log.New(io.Discard, "", 0))),
	}
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve)}
	go func() { _ = r.server.Serve(listener) }() // it ends with Stop
	return r, nil
}

// Stop ends the registry, and with it its images.
func (r *Registry) Stop() error { return r.server.Close() }

// serve counts what clients ask for, and passes it on.
func (r *Registry) serve(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	handler := r.content
	if r.wrap != nil {
		handler = r.wrap(handler)
	}
	r.requests = append(r.requests, req.Method+" "+req.URL.Path)
	r.mu.Unlock()
	handler.ServeHTTP(w, req)
}

// Wrap puts something in front of the registry from now on; nil for nothing.
func (r *Registry) Wrap(wrap func(http.Handler) http.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrap = wrap
}

// Login lets nobody in but who has that name and password.
func (r *Registry) Login(user, password string) {
	r.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if u, p, _ := req.BasicAuth(); u != user || p != password {
				w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, req)
		})
	})
}

// Requests are those of all clients so far, such as "GET /v2/release/manifests/1".
func (r *Registry) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.requests...)
}

// Push puts a payload under a name such as kubernetes-release:v1.36.3 and gives the name of the image.
func (r *Registry) Push(ctx context.Context, as string, d *payload.Description) (string, error) {
	image, err := d.Image()
	if err != nil {
		return "", err
	}
	return r.PushImage(ctx, as, image)
}

// PushImage does it with any image. It is no request of a client, and asks nobody for a password.
func (r *Registry) PushImage(ctx context.Context, as string, image v1.Image) (string, error) {
	return r.push(as, func(ref name.Reference) error {
		return remote.Write(ref, image, remote.WithContext(ctx), remote.WithTransport(direct{r.content}))
	})
}

// PushIndex does it with an index of images.
func (r *Registry) PushIndex(ctx context.Context, as string, index v1.ImageIndex) (string, error) {
	return r.push(as, func(ref name.Reference) error {
		return remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithTransport(direct{r.content}))
	})
}

func (r *Registry) push(as string, write func(name.Reference) error) (string, error) {
	ref, err := name.NewTag(r.Host + "/" + as)
	if err == nil {
		err = write(ref)
	}
	if err != nil {
		return "", fmt.Errorf("pushing %s: %w", as, err)
	}
	return ref.String(), nil
}

// Digest is the name by digest of an image that was pushed as that.
func (r *Registry) Digest(ctx context.Context, image string) (string, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return "", err
	}
	desc, err := remote.Head(ref, remote.WithContext(ctx), remote.WithTransport(direct{r.content}))
	if err != nil {
		return "", fmt.Errorf("looking for %s: %w", image, err)
	}
	return ref.Context().Digest(desc.Digest.String()).String(), nil
}

// direct serves requests without the network.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	d.handler.ServeHTTP(answer, req)
	result := answer.Result()
	result.Request = req
	return result, nil
}
