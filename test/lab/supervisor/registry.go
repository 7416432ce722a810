package supervisor

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// startRegistry starts a registry without authentication. It serves layers from the directory of the image cache, so that
// they need not be pushed.
func (s *supervisor) startRegistry(context.Context) error {
	layers, err := images.Dir()
	if err != nil {
		return fmt.Errorf("starting the registry: %w", err)
	}
	listener, err := net.Listen("tcp", cluster.Registry)
	if err != nil {
		return fmt.Errorf("starting the registry: %w", err)
	}
	server := &http.Server{Handler: registry.New(
		registry.Logger(log.New(io.Discard, "", 0)),
		registry.WithBlobHandler(registry.NewDiskBlobHandler(layers)),
	)}
	go func() { _ = server.Serve(listener) }() // until the supervisor ends
	s.report("registry at %s", cluster.Registry)
	return nil
}
