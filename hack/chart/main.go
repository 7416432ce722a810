// Command chart copies CRDs and permissions into the Helm charts, because a chart cannot read files outside of itself:
//
//	go run ./hack/chart
//
//	config/crd/*.yaml                     ──► hypershift-crds/files/<name>.json
//	config/crd/external/*.yaml            ──► hypershift/files/crd/<name>.json
//	config/rbac/*/*.yaml                  ──► hypershift/files/rbac/*/
//	config/scheduling/*                   ──► hypershift/files/scheduling/
//
// The copies of CRDs differ in two ways. They have annotations that make Helm, Argo CD and Flux keep them: deleting a CRD
// deletes all its objects, which the removal of an operator must not do. And they are compact JSON: Helm stores a chart twice
// in each revision, in a Secret of at most 1 MiB, which the indentation would help to fill.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// kept are the annotations by which Helm, Argo CD and Flux keep an object that their source no longer has. Argo CD applies such
// a large object only on the server.
var kept = map[string]string{
	"helm.sh/resource-policy":           "keep",
	"argocd.argoproj.io/sync-options":   "Prune=false,Delete=false,ServerSideApply=true",
	"kustomize.toolkit.fluxcd.io/prune": "disabled",
}

func main() {
	if err := write(filepath.Join("config", "helm")); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func write(charts string) error {
	files := filepath.Join(charts, "hypershift", "files")
	for from, to := range map[string]string{
		filepath.Join("config", "crd"):             filepath.Join(charts, "hypershift-crds", "files"),
		filepath.Join("config", "crd", "external"): filepath.Join(files, "crd"),
	} {
		if err := copyAll(from, to, kind); err != nil {
			return err
		}
	}
	programs, err := filepath.Glob(filepath.Join("config", "rbac", "*", "cluster_role.yaml"))
	if err != nil {
		return err
	}
	asTheyAre := []string{"scheduling"}
	for _, role := range programs {
		asTheyAre = append(asTheyAre, filepath.Join("rbac", filepath.Base(filepath.Dir(role))))
	}
	for _, dir := range asTheyAre {
		if err := copyAll(filepath.Join("config", dir), filepath.Join(files, dir), asIs); err != nil {
			return err
		}
	}
	return nil
}

// copyAll copies the YAML files of a directory to another.
func copyAll(from, to string, convert func(path string, text []byte) (name string, _ []byte, _ error)) error {
	paths, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("there is no YAML in %s", from)
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, text, err := convert(path, text)
		if err != nil {
			return fmt.Errorf("converting %s: %w", path, err)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func asIs(path string, text []byte) (string, []byte, error) { return filepath.Base(path), text, nil }

// kind is the copy of a CustomResourceDefinition, under the CRD's name: the template that installs it uses the name.
func kind(_ string, text []byte) (string, []byte, error) {
	text, err := yaml.YAMLToJSON(text)
	if err != nil {
		return "", nil, err
	}
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON(text); err != nil {
		return "", nil, err
	}
	annotations, labels := crd.GetAnnotations(), crd.GetLabels()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(annotations, kept)
	labels["app.kubernetes.io/part-of"] = "hypershift"
	crd.SetAnnotations(annotations)
	crd.SetLabels(labels)
	var compact bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false) // which would make them larger
	err = encoder.Encode(crd.Object)
	return crd.GetName() + ".json", compact.Bytes(), err
}
