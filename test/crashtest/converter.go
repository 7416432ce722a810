package crashtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

// Converter makes the fake API server merge lists and maps by the keys that the CRDs in a directory define. It parses the
// CRDs with the code of the API server, so that both compute the same field owners. It panics on failure: a test without
// the converter would prove something else.
func Converter(crdDir string) managedfields.TypeConverter {
	once, _ := converters.LoadOrStore(crdDir, sync.OnceValue(func() managedfields.TypeConverter {
		converter, err := convert(crdDir)
		if err != nil {
			panic(err)
		}
		return converter
	}))
	return once.(func() managedfields.TypeConverter)()
}

// converters caches the converter of each directory, because building one takes as long as a whole test.
var converters sync.Map

func convert(crdDir string) (managedfields.TypeConverter, error) {
	files, err := filepath.Glob(filepath.Join(crdDir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("finding CRDs: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("finding CRDs: none in %s", crdDir)
	}
	schemas := map[string]*spec.Schema{}
	for _, file := range files {
		if err := addSchemas(schemas, file); err != nil {
			return nil, fmt.Errorf("reading CRD %s: %w", file, err)
		}
	}
	return managedfields.NewTypeConverter(schemas, false)
}

// addSchemas adds the schemas of every version of the CRD in the file, and the schemas that they refer to.
func addSchemas(schemas map[string]*spec.Schema, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return err
	}
	for _, v := range crd.Spec.Versions {
		openapi, err := builder.BuildOpenAPIV3(crd, v.Name, builder.Options{})
		if err != nil {
			return fmt.Errorf("version %s: %w", v.Name, err)
		}
		maps.Copy(schemas, openapi.Components.Schemas)
	}
	return nil
}
