package cel

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// defaults are the fields that the API server adds to spec, with everything inside of them. HyperShift sets the same defaults. A
// field that is not listed here must be stored as it was applied: a tool that compares both would report a difference forever.
var defaults = map[string][]string{
	"HostedCluster": {
		"capabilities", "controllerAvailabilityPolicy", "etcd", "infrastructureAvailabilityPolicy", "issuerURL", "networking", "olmCatalogPlacement",
		"autoscaling.scaling", "platform.aws.endpointAccess",
	},
	"NodePool": {
		"management.upgradeType", "management.replace", "platform.aws.rootVolume.type", "arch",
	},
}

// TestObjectsAreStoredAsTheyAreApplied applies the samples and manifests of HyperShift.
func TestObjectsAreStoredAsTheyAreApplied(t *testing.T) {
	t.Parallel()
	c := strictClient(t, fixture.StartAPIServer(t, crdDirectory))
	files, err := filepath.Glob("testdata/applied/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) == 0 || len(samples) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	// The manifests of a scenario, which runs them.
	reference, err := filepath.Glob("../lab/e2e/testdata/reference/*.yaml")
	if err != nil || len(reference) != 3 {
		t.Fatalf("manifests of HyperShift's command line: %q %v", reference, err)
	}
	// The manifests of our command line, for the examples of its documentation.
	rendered, err := filepath.Glob("../../cmd/hypershift/cluster/testdata/render/*.yaml")
	if err != nil || len(rendered) < 4 {
		t.Fatalf("manifests of the command line: %q %v", rendered, err)
	}
	tested := map[string]int{}
	for i, file := range slices.Concat(files, samples, reference, rendered) {
		for _, applied := range manifests(t, file) {
			spec, known := defaults[applied.GetKind()]
			if !known {
				continue
			}
			tested[applied.GetKind()]++
			t.Run(filepath.Base(file)+"/"+applied.GetName(), func(t *testing.T) {
				stored := applied.DeepCopy()
				stored.SetNamespace("default")
				stored.SetName(fmt.Sprintf("%s-%d", applied.GetName(), i))
				if err := c.Create(t.Context(), stored); err != nil {
					t.Fatal(err)
				}
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
					t.Fatal(err)
				}
				for _, d := range differences("", applied.Object["spec"], stored.Object["spec"]) {
					if !d.added || !slices.ContainsFunc(spec, d.below) {
						t.Error(d)
					}
				}
			})
		}
	}
	if tested["HostedCluster"] < 2 || tested["NodePool"] < 1 {
		t.Errorf("tested only %v", tested)
	}
}

// manifests reads the objects of a file.
func manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(os.Expand(string(text), variable), "\n---\n") {
		text, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if string(text) == "null" { // comments only
			continue
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(text); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, obj)
	}
	return objects
}

// variable returns a value of a variable in the samples.
func variable(name string) string {
	values := map[string]string{
		"AWS_REGION": "us-east-1", "NODE_ADDRESS": "192.0.2.1", "RELEASE_IMAGE": "registry.example.com/release:1.36.3", "VPC": "vpc-0123456789abcdef0",
		"CUSTOMER_ACCOUNT": "123456789012", "INFRA_ID": "example-x7k2p", "ISSUER": "documents.s3.us-east-1.amazonaws.com/example-x7k2p", "PARTITION": "aws", "ZONE_A": "us-east-1a",
		"SUBNET_A": "subnet-0123456789abcdef0", "SUBNET_B": "subnet-1123456789abcdef0", "SUBNET_C": "subnet-2123456789abcdef0",
	}
	return values[name]
}

// difference is a field that is stored in another way than it was applied.
type difference struct {
	path            string
	applied, stored any
	added           bool
}

func (d difference) String() string {
	if d.added {
		return fmt.Sprintf("spec.%s was not applied and is stored as %v", d.path, d.stored)
	}
	return fmt.Sprintf("spec.%s was applied as %v and is stored as %v", d.path, d.applied, d.stored)
}

// below reports whether the field is another one, or in it.
func (d difference) below(path string) bool {
	return d.path == path || strings.HasPrefix(d.path, path+".")
}

func differences(path string, applied, stored any) []difference {
	switch a := applied.(type) {
	case map[string]any:
		s, ok := stored.(map[string]any)
		if !ok {
			break
		}
		var all []difference
		for _, key := range keysOf(a, s) {
			in := strings.TrimPrefix(path+"."+key, ".")
			_, before := a[key]
			if _, after := s[key]; before && after {
				all = append(all, differences(in, a[key], s[key])...)
			} else {
				all = append(all, difference{path: in, applied: a[key], stored: s[key], added: !before})
			}
		}
		return all
	case []any:
		s, ok := stored.([]any)
		if !ok || len(s) != len(a) {
			break
		}
		var all []difference
		for i := range a {
			all = append(all, differences(fmt.Sprintf("%s.%d", path, i), a[i], s[i])...)
		}
		return all
	}
	if reflect.DeepEqual(applied, stored) {
		return nil
	}
	return []difference{{path: path, applied: applied, stored: stored}}
}

func keysOf(maps ...map[string]any) []string {
	var keys []string
	for _, m := range maps {
		for key := range m {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	sort.Strings(keys)
	return keys
}
