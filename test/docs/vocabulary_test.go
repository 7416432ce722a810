package docs

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// vocabulary holds the existing names of this repository.
type vocabulary struct {
	files     map[string]bool // also folders
	bases     map[string]bool // the last parts of their names
	literals  map[string]bool // string literals of Go, without tests
	flags     map[string]bool // of our programs, and those that they give to others
	targets   map[string]bool // of make
	tests     map[string]bool
	objects   map[string]bool // names of Kubernetes objects
	resources map[string]bool // kinds, plurals and short names, in lower case
	names     map[string]bool // in upper camel case: kinds, enums, conditions, reasons, actions of IAM policies
	code      map[string]bool // identifiers of Go
	fields    *schema         // of all CRDs
	kinds     map[string]*schema
	values    *schema // of the chart
	anchors   map[string]map[string]bool
	pages     map[string]page
}

// schema is a part of an OpenAPI or JSON schema.
type schema struct {
	properties map[string]*schema
	elements   *schema // of a list, or of a map
	open       bool    // accepts every field
	enum       []string
}

func (s *schema) load(node map[string]any) *schema {
	if s.properties == nil {
		s.properties = map[string]*schema{}
	}
	if preserve, _ := node["x-kubernetes-preserve-unknown-fields"].(bool); preserve {
		s.open = true
	}
	properties, _ := node["properties"].(map[string]any)
	for name, below := range properties {
		if s.properties[name] == nil {
			s.properties[name] = &schema{}
		}
		s.properties[name].load(below.(map[string]any))
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := node[key].(map[string]any); ok {
			s.elements = (&schema{}).load(below)
		}
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		list, _ := node[key].([]any)
		for _, below := range list {
			if below, ok := below.(map[string]any); ok {
				s.load(below)
			}
		}
	}
	enum, _ := node["enum"].([]any)
	for _, value := range enum {
		if value, ok := value.(string); ok {
			s.enum = append(s.enum, value)
		}
	}
	if s.properties["matchLabels"] == nil && len(s.properties) == 0 && s.elements == nil && node["type"] == "object" {
		s.open = true
	}
	return s
}

// walk visits all parts.
func (s *schema) walk(visit func(name string, s *schema)) {
	for name, below := range s.properties {
		visit(name, below)
		below.walk(visit)
	}
	if s.elements != nil {
		s.elements.walk(visit)
	}
}

// has reports whether the path exists below this part. Lists and maps need no element of the path.
func (s *schema) has(path []string) bool {
	if len(path) == 0 || s.open {
		return true
	}
	if below, ok := s.properties[path[0]]; ok && below.has(path[1:]) {
		return true
	}
	return s.elements != nil && (s.elements.has(path) || s.elements.has(path[1:]))
}

// anywhere reports whether some part contains the path.
func (s *schema) anywhere(path []string) bool {
	found := false
	s.walk(func(name string, below *schema) {
		found = found || name == path[0] && below.has(path[1:])
	})
	return found
}

// problem returns the first field of a value that does not exist.
func (s *schema) problem(at string, value any) string {
	if s.open {
		return ""
	}
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			below := s.properties[key]
			if below == nil {
				below = s.elements
			}
			if below == nil {
				return at + key
			}
			if found := below.problem(at+key+".", inner); found != "" {
				return found
			}
		}
	case []any:
		if s.elements == nil {
			return ""
		}
		for _, inner := range value {
			if found := s.elements.problem(at, inner); found != "" {
				return found
			}
		}
	}
	return ""
}

var load = sync.OnceValues(func() (*vocabulary, error) {
	v := &vocabulary{
		files: map[string]bool{}, bases: map[string]bool{}, literals: map[string]bool{}, flags: map[string]bool{}, targets: map[string]bool{}, tests: map[string]bool{},
		objects: map[string]bool{}, resources: map[string]bool{}, names: map[string]bool{}, code: map[string]bool{}, fields: &schema{properties: map[string]*schema{}},
		kinds: map[string]*schema{}, anchors: map[string]map[string]bool{}, pages: map[string]page{},
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, root), "/"))
		if entry.IsDir() && (name == ".git" || name == "bin") {
			return filepath.SkipDir
		}
		v.files[name], v.bases[filepath.Base(name)] = true, true
		if entry.IsDir() || !entry.Type().IsRegular() {
			return nil
		}
		return v.read(path, name)
	})
	return v, err
})

func vocabularyOf(t *testing.T) *vocabulary {
	t.Helper()
	v, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *vocabulary) read(path, name string) error {
	own := strings.HasPrefix(name, "test/docs/") // Its lists and examples do not prove existence.
	switch extension := filepath.Ext(name); {
	case strings.HasSuffix(name, "_test.go"):
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range testName.FindAllStringSubmatch(string(content), -1) {
			v.tests[found[1]] = true
		}
		for _, found := range declared.FindAllStringSubmatch(string(content), -1) {
			v.code[found[1]] = true
		}
	case extension == ".go" && !own:
		return v.readGo(path, name)
	case extension == ".md" || name == "config/helm/hypershift/templates/NOTES.txt":
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(content)
		if extension == ".txt" { // Commands in the notes have two spaces.
			text = template.ReplaceAllString(strings.ReplaceAll(text, "\n  ", "\n    "), "NAME")
		}
		v.pages[name] = parse(name, text)
		v.anchors[name] = v.pages[name].anchors()
	case name == "Makefile":
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range target.FindAllStringSubmatch(string(content), -1) {
			v.targets[found[1]] = true
		}
	case extension == ".yaml" || extension == ".sh" || extension == ".tpl":
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, "test/") {
			return nil
		}
		v.addFlags(string(content))
		for _, found := range alert.FindAllStringSubmatch(string(content), -1) {
			v.names[found[1]] = true
		}
		for _, found := range objectName.FindAllStringSubmatch(string(content), -1) {
			v.objects[found[1]] = true
		}
		if strings.HasPrefix(name, "config/crd/") || strings.HasPrefix(name, "config/karpenter/") {
			return v.readCRD(content)
		}
	case strings.HasPrefix(name, "config/iam/") && extension == ".json":
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range action.FindAllStringSubmatch(string(content), -1) {
			v.names[found[1]] = true
		}
	case name == "config/helm/hypershift/values.schema.json":
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var node map[string]any
		if err := json.Unmarshal(content, &node); err != nil {
			return err
		}
		v.values = (&schema{}).load(resolve(node, node).(map[string]any))
		v.values.walk(v.addEnum)
	}
	return nil
}

// resolve replaces references to definitions of a JSON schema.
func resolve(node any, top map[string]any) any {
	switch node := node.(type) {
	case map[string]any:
		if reference, ok := node["$ref"].(string); ok {
			target := any(top)
			for _, part := range strings.Split(strings.TrimPrefix(reference, "#/"), "/") {
				target = target.(map[string]any)[part]
			}
			return resolve(target, top)
		}
		copied := map[string]any{}
		for key, inner := range node {
			copied[key] = resolve(inner, top)
		}
		return copied
	case []any:
		var copied []any
		for _, inner := range node {
			copied = append(copied, resolve(inner, top))
		}
		return copied
	}
	return node
}

var (
	testName   = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	template   = regexp.MustCompile(`\{\{[^}]*\}\}`)
	declared   = regexp.MustCompile(`(?m)^(?:func|type|var|const) (?:\([^)]*\) )?(\w+)`)
	target     = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	objectName = regexp.MustCompile(`(?m)^ *-? *"?name"?: "?([a-z0-9:.-]+)"?,?$`)
	flagText   = regexp.MustCompile(`--([a-z][a-z0-9-]+)`)
	alert      = regexp.MustCompile(`(?m)^ *-? *alert: (\w+)$`)
	action     = regexp.MustCompile(`"[a-z0-9]+:([A-Z][A-Za-z0-9]+)"`)
	upperCamel = regexp.MustCompile(`^[A-Z][A-Za-z0-9]+$`)
)

func (v *vocabulary) addFlags(content string) {
	for _, found := range flagText.FindAllStringSubmatch(content, -1) {
		v.flags[found[1]] = true
	}
}

// defining are the functions of the packages flag and pflag that define one.
var defining = regexp.MustCompile(`^(Bool|Int|Int32|Int64|Uint|String|StringSlice|StringArray|StringToString|Duration|Float64|Text|Func|BoolFunc)?(Var)?$`)

func (v *vocabulary) readGo(path, name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	product := strings.HasPrefix(name, "api/") || strings.HasPrefix(name, "hypershift-operator/") || strings.HasPrefix(name, "control-plane-operator/") ||
		strings.HasPrefix(name, "internal/")
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Ident:
			v.code[node.Name] = true
		case *ast.BasicLit:
			if node.Kind != token.STRING {
				return true
			}
			value, err := strconv.Unquote(node.Value)
			if err != nil {
				return true
			}
			if product {
				v.literals[value] = true
				v.objects[value] = true
				if upperCamel.MatchString(value) {
					v.names[value] = true
				}
			}
			v.addFlags(value)
		case *ast.CallExpr:
			selector, ok := node.Fun.(*ast.SelectorExpr)
			if !ok || !defining.MatchString(selector.Sel.Name) {
				return true
			}
			for _, argument := range node.Args {
				if literal, ok := argument.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if value, err := strconv.Unquote(literal.Value); err == nil && flagText.MatchString("--"+value) {
						v.flags[value] = true
					}
					break
				}
			}
		}
		return true
	})
	return nil
}

func (v *vocabulary) readCRD(content []byte) error {
	var crd struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind, Plural, Singular string
				ShortNames, Categories []string
			} `json:"names"`
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(content, &crd); err != nil {
		return err
	}
	kind := crd.Spec.Names.Kind
	if kind == "" {
		return nil
	}
	v.names[kind] = true
	for _, name := range append(append(crd.Spec.Names.ShortNames, crd.Spec.Names.Categories...), strings.ToLower(kind), crd.Spec.Names.Plural) {
		v.resources[name] = true
		v.resources[name+"."+crd.Spec.Group] = true
	}
	if v.kinds[kind] == nil {
		v.kinds[kind] = &schema{}
	}
	for _, version := range crd.Spec.Versions {
		v.kinds[kind].load(version.Schema.OpenAPIV3Schema)
		v.fields.load(version.Schema.OpenAPIV3Schema)
	}
	v.kinds[kind].walk(v.addEnum)
	return nil
}

func (v *vocabulary) addEnum(_ string, s *schema) {
	for _, value := range s.enum {
		v.names[value] = true
	}
}
