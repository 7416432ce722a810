package images

import (
	"context"
	"fmt"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/publicca"
)

// image is the definition of an image.
type image struct {
	name string
	// version is the version of its release; empty if all releases share the image.
	version string
	// programs are its programs of hack/binaries, and more is the source of a layer below them.
	programs []at
	more     source
	// above are sources of layers above these.
	above []source
	// apart excludes the image from releases.
	apart bool
	// trusts: its programs trust the public CA of the lab.
	trusts bool
	// onRequest excludes the image from pushes that do not name it.
	onRequest bool
	// entrypoint, command and user are those of the public image; empty if it has none.
	entrypoint, command []string
	user                string
}

// key is the key of the image in a Set.
func (i image) key() string { return Key(i.name, i.version) }

// format is the format of its layers. Machines unpack the programs of nodes with tools that every distribution has.
func (i image) format() types.MediaType {
	if i.name == names.NodePrograms {
		return types.OCILayer
	}
	return types.OCILayerZStd
}

// at is a program of hack/binaries and its path in an image.
type at struct{ name, path string }

// source returns the files of one layer.
type source func(ctx context.Context, w *workshop) ([]file, error)

// sources are the sources of its layers.
func (i image) sources() []source {
	var all []source
	if i.trusts {
		all = append(all, trustStore)
	}
	if i.more != nil {
		all = append(all, i.more)
	}
	if len(i.programs) > 0 {
		all = append(all, i.install)
	}
	return append(all, i.above...)
}

// install returns the programs of hack/binaries.
func (i image) install(ctx context.Context, w *workshop) ([]file, error) {
	var names []string
	for _, program := range i.programs {
		names = append(names, program.name)
	}
	paths, err := pinned.Ensure(ctx, w.progress, names...)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, program := range i.programs {
		files = append(files, file{path: program.path, source: paths[program.name], mode: 0o755})
	}
	return files, nil
}

// trustStore is the file of trusted CAs, where programs of Debian and of Go look for it.
func trustStore(context.Context, *workshop) ([]file, error) {
	dir, err := publicca.Dir()
	if err != nil {
		return nil, err
	}
	ca, err := publicca.Open(dir)
	if err != nil {
		return nil, err
	}
	return []file{{path: "/etc/ssl/certs/ca-certificates.crt", source: ca.File, mode: 0o644}}, nil
}

// build assembles an image. It sets no creation time.
func (i image) build(ctx context.Context, w *workshop) (v1.Image, error) {
	config := v1.Config{
		Entrypoint: i.entrypoint,
		Cmd:        i.command,
		User:       i.user,
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	var layers []v1.Layer
	for _, source := range i.sources() {
		files, err := source(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("making image %s: %w", i.key(), err)
		}
		layer, err := w.shelf.layer(ctx, files, i.format())
		if err != nil {
			return nil, fmt.Errorf("making image %s: %w", i.key(), err)
		}
		layers = append(layers, layer)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err := mutate.ConfigFile(base, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Config: config, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("configuring image %s: %w", i.key(), err)
	}
	img, err := mutate.AppendLayers(base, layers...)
	if err != nil {
		return nil, fmt.Errorf("adding the layers of image %s: %w", i.key(), err)
	}
	return img, nil
}
