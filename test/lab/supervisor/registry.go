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

// startRegistry serves images, and takes those of everybody. Layers are on disk, where images are made: they need not be sent.
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
	go func() { _ = server.Serve(listener) }() // until we end
	s.say("registry at %s", cluster.Registry)
	return nil
}
