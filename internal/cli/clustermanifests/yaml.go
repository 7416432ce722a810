package clustermanifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// YAML returns the objects as one text for `kubectl apply`. Without secrets, the text names those that have to exist.
func YAML(objects []client.Object, secrets bool) ([]byte, error) {
	var missing []string
	var body bytes.Buffer
	for _, obj := range objects {
		if _, ok := obj.(*corev1.Secret); ok && !secrets {
			missing = append(missing, obj.GetName())
			continue
		}
		text, err := document(obj)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName(), err)
		}
		body.WriteString("---\n")
		body.Write(text)
	}
	if len(missing) == 0 {
		return body.Bytes(), nil
	}
	header := fmt.Sprintf("# These Secrets have to exist in the same namespace: %s.\n# --render-sensitive prints them, too.\n", strings.Join(missing, ", "))
	return append([]byte(header), body.Bytes()...), nil
}

// document writes an object without the fields that the API server sets.
func document(obj client.Object) ([]byte, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	delete(content, "status")
	if spec, ok := content["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(content, "spec") // of a Namespace
	}
	if meta, ok := content["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return yaml.Marshal(content)
}
