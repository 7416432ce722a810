// Package gatewayapi embeds the CRDs of the Gateway API, which the control-plane-operator applies to hosted clusters with an ingress
// controller. hack/externalcrds writes them.
package gatewayapi

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the CustomResourceDefinitions, such as gateways.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // files are embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(strings.TrimSuffix(e.Name(), path.Ext(e.Name())), prefix))
	}
	return names
}

// prefix is before the names of the files.
const prefix = "gateway.networking.k8s.io_"

// CRD parses a CustomResourceDefinition. All of them are a megabyte of text, so that none is kept in memory.
func CRD(name string) (*unstructured.Unstructured, error) {
	text, err := files.ReadFile(prefix + name + ".yaml")
	if err != nil {
		return nil, err
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		return nil, fmt.Errorf("parsing the CustomResourceDefinition of %s: %w", name, err)
	}
	return crd, nil
}
