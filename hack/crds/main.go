// Command crds shortens the descriptions in the CRDs that controller-gen has written:
//
//	go run ./hack/crds
//
// kubectl apply stores an object in an annotation of at most 256 KiB, and Helm stores a chart in a Secret of at most 1 MiB. More than half of the
// CRD of HostedClusters were descriptions of the OpenShift API below spec.configuration and spec.operatorConfiguration. Most of these fields have
// no effect. Their descriptions keep their first sentence. So do all descriptions of HostedControlPlanes, which no user writes. docs/api.md has the full text.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// shortened are the CRDs with the paths below which descriptions are shortened.
var shortened = map[string][]string{
	"hostedclusters":      {"spec.configuration", "spec.operatorConfiguration", "status.configuration"},
	"hostedcontrolplanes": {"spec", "status"},
}

func main() {
	if err := run(filepath.Join("config", "crd")); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	for plural, paths := range shortened {
		file := filepath.Join(dir, "hypershift.openshift.io_"+plural+".yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		crd := map[string]any{}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		for _, path := range paths {
			schema, err := find(crd, path)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			shorten(schema)
		}
		if text, err = yaml.Marshal(crd); err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
		if err := os.WriteFile(file, append([]byte("---\n"), text...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// find returns the schema of a field in the only version of a CRD.
func find(crd map[string]any, path string) (map[string]any, error) {
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if len(versions) != 1 {
		return nil, fmt.Errorf("it has %d versions", len(versions))
	}
	version, _ := versions[0].(map[string]any)
	schema, _ := version["schema"].(map[string]any)
	at, _ := schema["openAPIV3Schema"].(map[string]any)
	for name := range strings.SplitSeq(path, ".") {
		properties, _ := at["properties"].(map[string]any)
		if at, _ = properties[name].(map[string]any); at == nil {
			return nil, fmt.Errorf("it has no field %s", path)
		}
	}
	return at, nil
}

func shorten(schema any) {
	switch schema := schema.(type) {
	case map[string]any:
		for key, value := range schema {
			if text, isText := value.(string); isText && key == "description" {
				schema[key] = firstSentence(text)
				continue
			}
			shorten(value)
		}
	case []any:
		for _, value := range schema {
			shorten(value)
		}
	}
}

// sentenceEnd is a full stop before a capital letter, but not after an abbreviation.
var (
	sentenceEnd   = regexp.MustCompile(`[.:]\s+[A-Z"'` + "`" + `]`)
	abbreviations = regexp.MustCompile(`(?i)\b(e\.g|i\.e|etc|vs)$`)
)

// firstSentence returns the first sentence of the first paragraph, in one line.
func firstSentence(text string) string {
	paragraph, _, _ := strings.Cut(text, "\n\n")
	paragraph = strings.Join(strings.Fields(paragraph), " ")
	for _, at := range sentenceEnd.FindAllStringIndex(paragraph, -1) {
		if !abbreviations.MatchString(paragraph[:at[0]]) {
			return paragraph[:at[0]+1]
		}
	}
	return paragraph
}
