// Package componenttest shows what a component is in clusters of several
// kinds. Its golden files are for reviewers: a change of an asset, an adapter or
// a default is a diff of what runs.
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

	"github.com/hosted-control-planes/hypershift/internal/component"
)

var update = flag.Bool("update", false, "write the golden files")

// A Case is a cluster to show the component in.
type Case struct {
	// Name is that of the golden file, in testdata.
	Name string
	// Adapt makes the cluster of Env into the one that is meant; nil leaves it.
	Adapt func(*component.Env)
}

// Single and HighlyAvailable are cases for every component.
var (
	Single          = Case{Name: "single"}
	HighlyAvailable = Case{Name: "highly-available", Adapt: func(env *component.Env) {
		env.HCP.Spec.ControllerAvailabilityPolicy = "HighlyAvailable"
	}}
)

// Golden compares the component in each cluster with testdata/<case>.yaml.
func Golden(t *testing.T, c component.Component, cases ...Case) {
	t.Helper()
	for _, cs := range cases {
		t.Run(cs.Name, func(t *testing.T) {
			env := Env()
			if cs.Adapt != nil {
				cs.Adapt(env)
			}
			objs, err := component.Render(c, env)
			if err != nil {
				t.Fatal(err)
			}
			Objects(t, cs.Name, objs)
		})
	}
}

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
