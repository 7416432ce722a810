package objects

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed assets/*.yaml
var files embed.FS

// decoder reads YAML. Unknown fields in an asset are an error.
var decoder = serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// assets returns the objects in some files of this package.
func assets(names ...string) ([]client.Object, error) { return Read(files, names...) }

// Read returns the objects in YAML files of the folder assets. An unknown field is an error.
func Read(files fs.FS, names ...string) ([]client.Object, error) {
	var objs []client.Object
	for _, name := range names {
		text, err := fs.ReadFile(files, "assets/"+name)
		if err != nil {
			return nil, err
		}
		for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			obj, _, err := decoder.Decode(document, nil, nil)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			objs = append(objs, obj.(client.Object))
		}
	}
	return objs, nil
}
