package cel

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// rule is one validation rule at one place of one kind.
type rule struct {
	kind    string
	path    string // of the field, with [] for the elements of lists and maps
	message string
}

// rulesOf lists the rules of all CRDs in a directory.
func rulesOf(t *testing.T, directory string) []rule {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs in %s: %v", directory, err)
	}
	var rules []rule
	for _, file := range files {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		loadYAML(t, file, crd)
		for _, version := range crd.Spec.Versions {
			rules = appendRules(rules, crd.Spec.Names.Kind, "", version.Schema.OpenAPIV3Schema)
		}
	}
	if len(rules) == 0 {
		t.Fatalf("the CRDs in %s have no rules", directory)
	}
	return rules
}

// appendRules walks a schema.
func appendRules(rules []rule, kind, path string, s *apiextensionsv1.JSONSchemaProps) []rule {
	for _, v := range s.XValidations {
		r := rule{kind: kind, path: path + v.FieldPath, message: v.Message}
		if v.Message == "" {
			// The message would contain the rule itself, which is not useful for users.
			r.message = "failed rule: " + strings.TrimSpace(v.Rule)
		}
		rules = append(rules, r)
	}
	for name, property := range s.Properties {
		rules = appendRules(rules, kind, strings.TrimPrefix(path+"."+name, "."), &property)
	}
	if s.Items != nil && s.Items.Schema != nil {
		rules = appendRules(rules, kind, path+"[]", s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		rules = appendRules(rules, kind, path+"[]", s.AdditionalProperties.Schema)
	}
	return rules
}

var index = regexp.MustCompile(`\[[^\]]*\]`)

// schemaPath converts the field of an error message to a path in the schema.
func schemaPath(field string) string {
	if field == "<nil>" { // the object itself
		return ""
	}
	return index.ReplaceAllString(field, "[]")
}
