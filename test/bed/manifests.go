package bed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ApplyYAML applies manifests in their order, as `kubectl apply --server-side` does.
func (b *Bed) ApplyYAML(ctx context.Context, manifests string) error {
	return Apply(ctx, b.Config, manifests)
}

// Apply does the same in any cluster.
func Apply(ctx context.Context, config *rest.Config, manifests string) error {
	objects, err := Decode(manifests)
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("applying manifests: %w", err)
	}
	for _, object := range objects {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("bed"), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

// ApplyFiles applies the manifests of files; ${NAME} in them is replaced by variables[NAME].
func (b *Bed) ApplyFiles(ctx context.Context, variables map[string]string, paths ...string) error {
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("applying %s: %w", path, err)
		}
		manifests, err := Substitute(string(content), variables)
		if err != nil {
			return fmt.Errorf("applying %s: %w", path, err)
		}
		if err := b.ApplyYAML(ctx, manifests); err != nil {
			return fmt.Errorf("applying %s: %w", path, err)
		}
	}
	return nil
}

// Substitute replaces ${NAME} as envsubst does, but a name without a value is an error.
func Substitute(text string, variables map[string]string) (string, error) {
	var unknown []string
	text = os.Expand(text, func(name string) string {
		value, ok := variables[name]
		if !ok {
			unknown = append(unknown, name)
		}
		return value
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("no value for %s", strings.Join(unknown, ", "))
	}
	return text, nil
}

// Decode splits a YAML stream into objects. Documents of comments alone are skipped.
func Decode(manifests string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
