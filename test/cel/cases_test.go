package cel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// verdict is one case: an object or a change, and the expected response of the API server.
type verdict struct {
	Name        string           `json:"name"`
	Object      map[string]any   `json:"object,omitempty"`
	Update      []map[string]any `json:"update,omitempty"`
	Subresource string           `json:"subresource,omitempty"`
	Reject      string           `json:"reject,omitempty"`
	Accept      bool             `json:"accept,omitempty"`
}

// topic is a file of cases.
type topic struct {
	Bases []string  `json:"bases"`
	Cases []verdict `json:"cases"`
}

// loadTopics reads all case files, by the name of the file.
func loadTopics(t *testing.T) map[string]topic {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	topics := map[string]topic{}
	for _, file := range files {
		var tp topic
		loadYAML(t, file, &tp)
		if len(tp.Bases) == 0 || len(tp.Cases) == 0 {
			t.Fatalf("%s: needs bases and cases", file)
		}
		seen := map[string]bool{}
		for _, c := range tp.Cases {
			if c.Name == "" || seen[c.Name] {
				t.Fatalf("%s: the name %q is empty or taken", file, c.Name)
			}
			if c.Accept == (c.Reject != "") {
				t.Fatalf("%s: %s: needs either accept or reject", file, c.Name)
			}
			seen[c.Name] = true
		}
		topics[strings.TrimSuffix(filepath.Base(file), ".yaml")] = tp
	}
	return topics
}

// loadBase reads a base.
func loadBase(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	base := &unstructured.Unstructured{}
	loadYAML(t, filepath.Join("testdata", "bases", name+".yaml"), &base.Object)
	base.SetNamespace("default")
	return base
}

func loadYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// patched returns obj with a JSON merge patch (RFC 7386) applied.
func patched(obj *unstructured.Unstructured, patch map[string]any) *unstructured.Unstructured {
	result := obj.DeepCopy()
	merge(result.Object, patch)
	return result
}

func merge(into, patch map[string]any) {
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(into, key)
		case map[string]any:
			inner, ok := into[key].(map[string]any)
			if !ok {
				inner = map[string]any{}
				into[key] = inner
			}
			merge(inner, value)
		default:
			into[key] = value
		}
	}
}
