package component

import (
	"testing"
	"testing/fstest"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kindsTarget is a target with objects of these kinds.
type kindsTarget struct {
	Target
	kinds []client.ObjectList
}

func (t kindsTarget) Kinds() []client.ObjectList              { return t.kinds }
func (kindsTarget) Image(string) string                       { return "registry/image" }
func (kindsTarget) Prepare(Traits, client.Object) bool        { return true }
func (kindsTarget) Finish(Traits, *Workload, []client.Object) {}
func (kindsTarget) Complete(Traits, *Workload) error          { return nil }

func listOf(group, kind string) client.ObjectList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind + "List"})
	return list
}

// The target must list the kind of an object without a Go type, too. Otherwise it would not be pruned.
func TestObjectsWithoutAGoTypeAreRendered(t *testing.T) {
	c := Component[kindsTarget]{Name: "c", Assets: fstest.MapFS{
		"deployment.yaml": {Data: []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c}\nspec: {template: {spec: {containers: [{name: c, image: c}]}}}\n")},
		"widget.yaml":     {Data: []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n")},
	}}
	for name, tc := range map[string]struct {
		kinds []client.ObjectList
		want  bool
	}{
		"its kind is listed":       {[]client.ObjectList{&appsv1.DeploymentList{}, listOf("example.com", "Widget")}, true},
		"a kind of another group":  {[]client.ObjectList{&appsv1.DeploymentList{}, listOf("example.org", "Widget")}, false},
		"only kinds with Go types": {[]client.ObjectList{&appsv1.DeploymentList{}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			objs, err := Render(c, kindsTarget{kinds: tc.kinds})
			if (err == nil) != tc.want {
				t.Fatalf("rendered %d objects, error %v", len(objs), err)
			}
			if !tc.want {
				return
			}
			size, _, err := unstructured.NestedInt64(objs[0].(*unstructured.Unstructured).Object, "spec", "size")
			if err != nil || size != 3 {
				t.Errorf("size is %d, %v", size, err)
			}
		})
	}
}
