package clustermanifests

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// examples stand for values that AWS will choose. A value that contains one is not known yet.
var examples = []string{exampleAccount, exampleVPC, exampleSubnet, exampleGroup, exampleZone, exampleCA}

// Differences returns the fields in which an existing object differs from a desired one, each as "path is A, not B", ordered by path.
// It ignores fields that only the existing object has, values that are not known before AWS has chosen them, and the labels and types of
// Secrets and ConfigMaps. The values of Secrets are not part of the result.
func Differences(existing, desired client.Object) ([]string, error) {
	current, err := comparable(existing)
	if err != nil {
		return nil, err
	}
	want, err := comparable(desired)
	if err != nil {
		return nil, err
	}
	_, isSecret := desired.(*corev1.Secret)
	return differences("", current, want, isSecret), nil
}

// Chosen returns the values that AWS chooses in an object, by their paths: the fields for which the draft of the object has an example. A value
// that the object does not have is "".
func Chosen(draft, obj client.Object) (map[string]string, error) {
	examples, err := comparable(draft)
	if err != nil {
		return nil, err
	}
	values, err := comparable(obj)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	addChosen(found, "", examples, values)
	return found, nil
}

func addChosen(found map[string]string, path string, example, value any) {
	switch example := example.(type) {
	case map[string]any:
		values, _ := value.(map[string]any)
		for key := range example {
			addChosen(found, strings.TrimPrefix(path+"."+key, "."), example[key], values[key])
		}
	case []any:
		values, _ := value.([]any)
		for i := range example {
			var one any
			if i < len(values) {
				one = values[i]
			}
			addChosen(found, fmt.Sprintf("%s[%d]", path, i), example[i], one)
		}
	case string:
		if isExample(example) {
			found[path], _ = value.(string)
		}
	}
}

func isExample(value string) bool {
	return slices.ContainsFunc(examples, func(example string) bool { return strings.Contains(value, example) })
}

// comparable returns the fields of an object that count.
func comparable(obj client.Object) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting %T: %w", obj, err)
	}
	for _, ignored := range []string{"apiVersion", "kind", "status"} {
		delete(fields, ignored)
	}
	if hasContents(obj) {
		delete(fields, "metadata")
		delete(fields, "type")
	}
	metadata, _ := fields["metadata"].(map[string]any)
	maps.DeleteFunc(metadata, func(key string, _ any) bool { return key != "labels" && key != "annotations" })
	labels, _ := metadata["labels"].(map[string]any)
	delete(labels, InfraIDLabel)
	return fields, nil
}

// hasContents is true for the objects that a user may have created before: only their contents count.
func hasContents(obj client.Object) bool {
	switch obj.(type) {
	case *corev1.Secret, *corev1.ConfigMap:
		return true
	}
	return false
}

func differences(path string, existing, desired any, secret bool) []string {
	switch desired := desired.(type) {
	case map[string]any:
		existing, _ := existing.(map[string]any)
		var found []string
		for _, key := range slices.Sorted(maps.Keys(desired)) {
			found = append(found, differences(strings.TrimPrefix(path+"."+key, "."), existing[key], desired[key], secret)...)
		}
		return found
	case []any:
		if existing, _ := existing.([]any); len(existing) == len(desired) {
			var found []string
			for i := range desired {
				found = append(found, differences(fmt.Sprintf("%s[%d]", path, i), existing[i], desired[i], secret)...)
			}
			return found
		}
	case string:
		if isExample(desired) {
			return nil
		}
	}
	switch {
	case reflect.DeepEqual(existing, desired):
		return nil
	case secret:
		return []string{path + " has another value"}
	}
	return []string{fmt.Sprintf("%s is %s, not %s", path, text(existing), text(desired))}
}

// text returns a value as JSON, and "not set" for a missing value.
func text(value any) string {
	if value == nil {
		return "not set"
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}
