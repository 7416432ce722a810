package apifields

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const (
	root = "../../"
	api  = "api/hypershift/v1beta1"
)

// copiers only copy fields from one object to another, or only validate them.
var copiers = []string{
	"hypershift-operator/controllers/hostedcluster.desiredControlPlane", "hypershift-operator/controllers/hostedcluster.scope.podSettings",
	"hypershift-operator/hostedcluster/teardown.", "hypershift-operator/hostedcluster/userobjects.", "internal/validation.",
}

func TestEveryFieldHasAnEffectOrIsReported(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]struct {
		spec     reflect.Type
		reported func(spec reflect.Value) []string
		crd      string
	}{
		"HostedCluster": {
			spec: reflect.TypeFor[hyperv1.HostedClusterSpec](), crd: "hostedclusters",
			reported: func(spec reflect.Value) []string {
				return (&hyperv1.HostedCluster{Spec: spec.Interface().(hyperv1.HostedClusterSpec)}).NotActedOn()
			},
		},
		"NodePool": {
			spec: reflect.TypeFor[hyperv1.NodePoolSpec](), crd: "nodepools",
			reported: func(spec reflect.Value) []string {
				return (&hyperv1.NodePool{Spec: spec.Interface().(hyperv1.NodePoolSpec)}).NotActedOn()
			},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			source, schema := &functions{}, schemaOf(t, of.crd)
			used := map[string]bool{}
			for _, f := range leaves(of.spec) {
				key, name := entryOf(readers[kind], f)
				if key != "" {
					used[key] = true
					if err := source.uses(readers[kind][key], name); err != nil {
						t.Errorf("%s: %v", f.path, err)
					}
					continue
				}
				values := enumOf(schema, f.path)
				if len(values) == 1 {
					continue // constant
				}
				if !slices.ContainsFunc(append(values, "x"), func(value string) bool { return len(of.reported(f.set(of.spec, value))) > 0 }) {
					t.Errorf("%s has no effect and is not reported: name the function that acts upon it in readers, or add it to unsupportedFields", f.path)
				}
			}
			for key := range readers[kind] {
				if !used[key] {
					t.Errorf("%s has no such field as %s", kind, key)
				}
			}
		})
	}
}

// entryOf returns the key of the entry of a field, and the name of the Go field that its function uses.
func entryOf(entries map[string]string, f field) (key, name string) {
	if _, ok := entries[f.path]; ok {
		return f.path, f.steps[len(f.steps)-1].name()
	}
	for i := len(f.steps) - 1; i > 0; i-- {
		path := pathOf(f.steps[:i])
		if _, ok := entries[path+".*"]; ok {
			return path + ".*", f.steps[i-1].name()
		}
	}
	return "", ""
}

func pathOf(steps []step) string {
	var path []string
	for i, s := range steps {
		f := s.owner.Field(s.index)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // an embedded type
		}
		if i < len(steps)-1 && f.Type.Kind() == reflect.Slice {
			name += "[]"
		}
		path = append(path, name)
	}
	return strings.Join(path, ".")
}

// functions are the functions of packages, by package and name.
type functions struct {
	found map[string]map[string]*ast.FuncDecl
}

// uses returns an error unless the function uses the Go field.
func (s *functions) uses(entry, field string) error {
	entry, refuses := strings.CutPrefix(entry, refuses)
	entry, method, _ := strings.Cut(entry, " via ")
	entry, instead, _ := strings.Cut(entry, " as ")
	if slices.ContainsFunc(copiers, func(c string) bool { return strings.HasPrefix(entry, c) }) && !refuses {
		return fmt.Errorf("%s only copies or validates it", entry)
	}
	reader, err := s.function(entry)
	if err != nil {
		return err
	}
	if method != "" {
		of, err := s.function(api + "." + method)
		if err != nil {
			return err
		}
		if !mentions(of, field) {
			return fmt.Errorf("%s does not use %s", method, field)
		}
		field = method
	}
	if instead != "" {
		field = instead
	}
	if !mentions(reader, field) {
		return fmt.Errorf("%s does not use %s", entry, field)
	}
	return nil
}

// function finds a function by its package and name. The methods of the API have no receiver here.
func (s *functions) function(entry string) (*ast.FuncDecl, error) {
	slash := strings.LastIndex(entry, "/")
	dir, name, _ := strings.Cut(entry[slash+1:], ".")
	dir = entry[:slash+1] + dir
	if s.found[dir] == nil {
		if err := s.parse(dir); err != nil {
			return nil, err
		}
	}
	f := s.found[dir][name]
	if f == nil {
		return nil, fmt.Errorf("package %s has no function %s", dir, name)
	}
	return f, nil
}

func (s *functions) parse(dir string) error {
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there is no package %s", dir)
	}
	if s.found == nil {
		s.found = map[string]map[string]*ast.FuncDecl{}
	}
	s.found[dir] = map[string]*ast.FuncDecl{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "zz_generated") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				s.found[dir][nameOf(f, dir == api)] = f
			}
		}
	}
	return nil
}

func nameOf(f *ast.FuncDecl, bare bool) string {
	if f.Recv == nil || bare {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if id, ok := receiver.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// mentions reports whether the function selects a field, method or constant of that name.
func mentions(f *ast.FuncDecl, name string) bool {
	found := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
			found = true
		}
		return !found
	})
	return found
}

func schemaOf(t *testing.T, plural string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config/crd/hypershift.openshift.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	return &spec
}

// enumOf returns the values that the CRD permits, or nil if it permits any.
func enumOf(schema *apiextensionsv1.JSONSchemaProps, path string) []string {
	for name := range strings.SplitSeq(path, ".") {
		name, elements := strings.CutSuffix(name, "[]")
		next, ok := schema.Properties[name]
		if !ok {
			return nil
		}
		schema = &next
		if elements {
			schema = schema.Items.Schema
		}
	}
	var values []string
	for _, v := range schema.Enum {
		values = append(values, strings.Trim(string(v.Raw), `"`))
	}
	return values
}
