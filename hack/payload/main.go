// Payload builds a release payload, the image in spec.release.image of a HostedCluster, from a description:
//
//	go run ./hack/payload -f hack/payload/kubernetes-1.37.2.yaml -push registry.example.com/kubernetes-release:v1.36.3
//	go run ./hack/payload -f hack/payload/kubernetes-1.37.2.yaml -tarball release.tar   # for docker load, crane push
//	go run ./hack/payload -generate                                                    # writes the descriptions in hack/payload
//
// It prints the name of the image by digest, or its digest. It uses the credentials of `docker login`. Components with
// tags in the description get digests in the payload, which are read from their registries; -pin=false disables this.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/hosted-control-planes/hypershift/hack/payload/versions"
	"github.com/hosted-control-planes/hypershift/internal/release/payload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "payload:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("payload", flag.ContinueOnError)
	file := fs.String("f", "", "description of the payload, YAML or JSON; - for the standard input")
	push := fs.String("push", "", "push the payload under this name")
	archive := fs.String("tarball", "", "write the payload to this file")
	byDigest := fs.Bool("pin", true, "name components by the digests that their tags have now")
	generate := fs.Bool("generate", false, "write the descriptions in hack/payload from the table in hack/payload/versions")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *generate {
		return writeDescriptions(filepath.Join("hack", "payload"))
	}
	if *file == "" || *push == "" && *archive == "" {
		return errors.New("say what with -f, and where to with -push or -tarball")
	}
	d, err := read(*file)
	if err != nil {
		return err
	}
	if *byDigest {
		if err := pin(ctx, d); err != nil {
			return err
		}
	}
	image, err := d.Image()
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("making the image: %w", err)
	}
	named := digest.String()
	if *archive != "" {
		tag, err := name.NewTag("kubernetes-release:v" + d.Version)
		if err != nil {
			return fmt.Errorf("naming the image after version %q: %w", d.Version, err)
		}
		if err := tarball.WriteToFile(*archive, tag, image); err != nil {
			return fmt.Errorf("writing %s: %w", *archive, err)
		}
	}
	if *push != "" {
		ref, err := name.NewTag(*push)
		if err != nil {
			return fmt.Errorf("reading the name to push to: %w", err)
		}
		if err := remote.Write(ref, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("pushing %s: %w", ref, err)
		}
		named = ref.Context().Digest(named).String()
	}
	_, err = fmt.Fprintln(out, named)
	return err
}

// writeDescriptions writes a description for each version of Kubernetes.
func writeDescriptions(dir string) error {
	for _, kubernetes := range versions.Kubernetes {
		text, err := versions.Describe(kubernetes)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "kubernetes-"+kubernetes+".yaml"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// read reads a description.
func read(file string) (*payload.Description, error) {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(os.Stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the description: %w", err)
	}
	return payload.Parse(text)
}
