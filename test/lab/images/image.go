package images

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/payload/publishedimages"
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
	// like is the name of the published image with the same configuration, users, file capabilities and programs; empty for an image
	// that only tests use.
	like string
	// beside are programs that the published image does not have, with the reason.
	beside map[string]string
	// entrypoint, command and user are for an image without like. With like, entrypoint names the program that stands for another.
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
	if _, published := i.published(); published {
		all = append(all, i.system)
	}
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

// published returns the published image; false for an image that only tests use.
func (i image) published() (publishedimages.Image, bool) {
	return publishedimages.Of(i.like, cmp.Or(i.version, Versions[0]))
}

// config returns the configuration: the published image's, if there is one.
func (i image) config() v1.Config {
	config := v1.Config{Entrypoint: i.entrypoint, Cmd: i.command, User: i.user, Env: []string{"PATH=" + publishedimages.DefaultPath}}
	facts, published := i.published()
	if !published {
		return config
	}
	c := facts.Config()
	config = v1.Config{Entrypoint: c.Entrypoint, Cmd: c.Command, User: c.User, WorkingDir: c.WorkingDir, Labels: c.Labels}
	if len(i.entrypoint) > 0 {
		config.Entrypoint = i.entrypoint
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		config.Env = append(config.Env, name+"="+c.Env[name])
	}
	return config
}

// system is the layer with the users of the published image, their home directories, and the temporary directory.
func (i image) system(context.Context, *workshop) ([]file, error) {
	facts, _ := i.published()
	var passwd, group strings.Builder
	homes := map[string]bool{}
	for _, u := range facts.AllUsers() {
		fmt.Fprintf(&passwd, "%s:x:%d:%d:%s:%s:/sbin/nologin\n", u.Name, u.Number, u.Number, u.Name, u.Home)
		fmt.Fprintf(&group, "%s:x:%d:\n", u.Name, u.Number)
		homes[u.Home] = u.Home != "/nonexistent"
	}
	if passwd.Len() == 0 {
		return nil, nil
	}
	files := []file{
		{path: "/etc/passwd", text: passwd.String(), mode: 0o644},
		{path: "/etc/group", text: group.String(), mode: 0o644},
		{path: "/tmp", mode: os.ModeDir | os.ModeSticky | 0o777},
	}
	for _, home := range slices.Sorted(maps.Keys(homes)) {
		if homes[home] {
			files = append(files, file{path: home, mode: os.ModeDir | 0o755})
		}
	}
	return files, nil
}

// executables are the directories in which the programs of an image are.
var executables = []string{"/", "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/bin", "/opt/cni/bin", "/ko-app"}

// conform gives programs the file capabilities that they have in the published image. It fails for a program that the published image does
// not have: with it, a pod would run in the lab and nowhere else.
func (i image) conform(files []file) error {
	facts, published := i.published()
	if !published {
		return nil
	}
	for n := range files {
		f := &files[n]
		program, known := facts.Lookup(f.path)
		if known && f.link == "" && len(program.Capabilities) > 0 {
			f.capabilities = publishedimages.Attribute(program.Capabilities)
		}
		isProgram := !f.mode.IsDir() && f.mode&0o111 != 0 && slices.Contains(executables, path.Dir(f.path))
		if isProgram && !known && i.beside[f.path] == "" {
			return fmt.Errorf("it has %s, and the published image does not", f.path)
		}
	}
	return nil
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
	ca, err := publicca.OfMachine()
	if err != nil {
		return nil, err
	}
	return []file{{path: "/etc/ssl/certs/ca-certificates.crt", source: ca.File, mode: 0o644}}, nil
}

// build assembles an image. It sets no creation time.
func (i image) build(ctx context.Context, w *workshop) (v1.Image, error) {
	var layers []v1.Layer
	for _, source := range i.sources() {
		files, err := source(ctx, w)
		if err == nil {
			err = i.conform(files)
		}
		if err != nil {
			return nil, fmt.Errorf("making image %s: %w", i.key(), err)
		}
		if len(files) == 0 {
			continue
		}
		layer, err := w.shelf.layer(ctx, files, i.format())
		if err != nil {
			return nil, fmt.Errorf("making image %s: %w", i.key(), err)
		}
		layers = append(layers, layer)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err := mutate.ConfigFile(base, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Config: i.config(), RootFS: v1.RootFS{Type: "layers"},
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
