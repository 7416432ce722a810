// Package componenttest compares rendered objects with golden files. They are for reviewers: a change of an asset, an adapter
// or a default is a diff of the workloads.
package componenttest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

// Objects compares the objects with testdata/<name>.yaml.
func Objects(t *testing.T, name string, objs []client.Object) {
	t.Helper()
	var out bytes.Buffer
	for _, obj := range objs {
		gvk, err := apiutil.GVKForObject(obj, clientgoscheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		obj.GetObjectKind().SetGroupVersionKind(gvk) // objects from Go do not have it
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			t.Fatal(err)
		}
		delete(content, "status") // is not ours
		text, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	compare(t, filepath.Join("testdata", name+".yaml"), out.Bytes())
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update, and look at it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what is rendered now; if that is meant, write it with -update, and look at the difference", file)
	}
}
