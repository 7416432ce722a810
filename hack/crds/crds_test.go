package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestFirstSentence(t *testing.T) {
	for text, want := range map[string]string{
		"one sentence":                   "one sentence",
		"One. Two.":                      "One.",
		"One, e.g. Two. Three":           "One, e.g. Two.",
		"a list of\nnames.\n\n- a\n- b":  "a list of names.",
		"version 1.2 is used. It is new": "version 1.2 is used.",
	} {
		if got := firstSentence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// kubectl apply stores the JSON of an object in an annotation. The sum of all annotations is limited to 256 KiB
// (TotalAnnotationSizeLimitB of k8s.io/apimachinery/pkg/api/validation).
func TestCRDsFitClientSideApply(t *testing.T) {
	const limit = 256 << 10
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d CRDs, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd any
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s takes %d of %d bytes", filepath.Base(file), len(encoded), limit)
		if len(encoded) > limit*80/100 {
			t.Errorf("%s takes %d of %d bytes: shorten descriptions (package crds)", file, len(encoded), limit)
		}
	}
}
