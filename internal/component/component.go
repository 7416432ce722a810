package component

import (
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// workloadFiles are the names of the file with the workload. Each component has one of them.
var workloadFiles = []string{"deployment.yaml", "statefulset.yaml", "daemonset.yaml"}

// A Target is where components run: in the namespace of a control plane, or inside a hosted cluster. It holds the facts of
// one cluster that adapters use, and sets the fields that all components there share.
type Target interface {
	// Image returns the reference of an image, or "" if the release has none of that name.
	Image(name string) string
	// Kinds lists the kinds of objects that components have or have ever had. Objects of other kinds would not be pruned.
	Kinds() []client.ObjectList
	// Prepare sets the fields of an object that adapters may rely on, and reports whether the cluster needs the object at all.
	Prepare(c Traits, obj client.Object) (wanted bool)
	// Finish sets the fields that belong to the component itself, after the adapters of all its objects, and before its containers
	// join the pods of another component.
	Finish(c Traits, w *Workload, objs []client.Object)
	// Complete sets the fields that all workloads have, when all containers of the pods are there.
	Complete(c Traits, w *Workload) error
}

// Traits are the properties of a Component that a Target uses.
type Traits struct {
	Name           string
	RequestServing bool
	Reloads        []string
}

// A Component is one workload, and the objects that it needs, for one kind of Target.
type Component[T Target] struct {
	// Name is the name of its ControlPlaneComponent, of the label app of its own pods and of the set of its objects. The name of
	// its workload is in its asset.
	Name string
	// Assets contains a YAML file for each object, in any directory. One of them is deployment.yaml, statefulset.yaml or
	// daemonset.yaml. Its images are names that the Target resolves.
	Assets fs.FS
	// After names the components that precede this one during a rollout: they must be available and have completed the
	// rollout of the version.
	After []string
	// In names the component whose pods run the containers of this one; empty for pods of its own. Then its workload is only the
	// source of containers and volumes, and it is changed when its host is.
	In string
	// Wanted reports whether the cluster has this component. Nil means every cluster.
	Wanted func(T) bool
	// Adapters set the cluster-specific fields, in order.
	Adapters []Adapter[T]
	// RequestServing is set for a component that serves requests of users: a highly available cluster has 3 replicas of it,
	// and 2 of others. Replicas in an asset take precedence.
	RequestServing bool
	// Reloads names the mounted objects that the program reloads by itself, as "Secret/<name>" or "ConfigMap/<name>", or one
	// key, as "Secret/<name>/<key>". A change of them does not restart its pods.
	Reloads []string
	// Explain returns a reason and an advice for the termination message of a program. Without it, the message is shown as it
	// is.
	Explain func(words string) (reason, message string)
}

func (c Component[T]) traits() Traits {
	return Traits{Name: c.Name, RequestServing: c.RequestServing, Reloads: c.Reloads}
}

// An Adapter changes or removes the object of one asset. It is a pure function.
type Adapter[T Target] struct {
	file  string
	adapt func(T, client.Object) error
	when  func(T) bool
}

// File is the name of the asset.
func (a Adapter[T]) File() string { return a.file }

// On returns an Adapter for the object of a file.
func On[T Target, O client.Object](file string, adapt func(T, O) error) Adapter[T] {
	return Adapter[T]{file: file, adapt: func(t T, obj client.Object) error {
		typed, ok := obj.(O)
		if !ok {
			return fmt.Errorf("it is a %T, and its adapter takes a %T", obj, typed)
		}
		return adapt(t, typed)
	}}
}

// Only returns an Adapter that removes a file unless the cluster meets a condition.
func Only[T Target](file string, when func(T) bool) Adapter[T] {
	return Adapter[T]{file: file, when: when}
}

// Container returns a container or init container of the pod, for an adapter to change. It panics if the container is
// missing: assets are constant.
func Container(pod *corev1.PodSpec, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{pod.Containers, pod.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	panic("no container " + name + " in the asset")
}

// Render returns the objects of the component, with pods of its own, in the order of their files. The workload is the last one, so
// that the objects it mounts exist before it.
func Render[T Target](c Component[T], t T) ([]client.Object, error) {
	objs, w, err := c.assemble(t)
	if err != nil {
		return nil, err
	}
	if err := c.complete(t, w); err != nil {
		return nil, err
	}
	return objs, nil
}

// assemble returns the objects of the component, and the last one again as its workload.
func (c Component[T]) assemble(t T) ([]client.Object, *Workload, error) {
	objs, w, err := c.build(t)
	if err != nil {
		return nil, nil, fmt.Errorf("component %s: %w", c.Name, err)
	}
	return objs, w, nil
}

func (c Component[T]) build(t T) ([]client.Object, *Workload, error) {
	files, err := c.files()
	if err != nil {
		return nil, nil, err
	}
	var objs []client.Object
	for _, file := range files {
		obj, err := c.render(file, t)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path.Base(file), err)
		}
		if obj != nil {
			objs = append(objs, obj)
		}
	}
	w, err := workloadIn(objs)
	if err != nil {
		return nil, nil, err
	}
	if err := ResolveImages(t, w.Pod()); err != nil {
		return nil, nil, err
	}
	t.Finish(c.traits(), w, objs)
	return objs, w, nil
}

func (c Component[T]) complete(t T, w *Workload) error {
	if err := t.Complete(c.traits(), w); err != nil {
		return fmt.Errorf("component %s: %w", c.Name, err)
	}
	return nil
}

// files returns the paths of the assets, with the workload as the last one.
func (c Component[T]) files() ([]string, error) {
	var files []string
	workload := ""
	err := fs.WalkDir(c.Assets, ".", func(p string, d fs.DirEntry, err error) error {
		switch base := path.Base(p); {
		case err != nil || d.IsDir() || !strings.HasSuffix(p, ".yaml"):
		case slices.Contains(workloadFiles, base):
			workload = p
		default:
			files = append(files, p)
		}
		return err
	})
	if err == nil && workload == "" {
		err = fmt.Errorf("it has none of %s", strings.Join(workloadFiles, ", "))
	}
	return append(files, workload), err
}

// render decodes one object and runs the adapters. It returns nil if the cluster does not have the object.
func (c Component[T]) render(file string, t T) (client.Object, error) {
	for _, a := range c.Adapters {
		if a.when != nil && a.file == path.Base(file) && !a.when(t) {
			return nil, nil
		}
	}
	obj, err := c.decode(file)
	if err != nil {
		return nil, err
	}
	if !isOneOf(obj, t.Kinds()) {
		return nil, fmt.Errorf("a %T would not be removed again: add its kind to those of the target", obj)
	}
	if !t.Prepare(c.traits(), obj) {
		return nil, nil
	}
	for _, a := range c.Adapters {
		if a.adapt == nil || a.file != path.Base(file) {
			continue
		}
		if err := a.adapt(t, obj); err != nil {
			return nil, err
		}
	}
	return obj, nil
}

// Kinds returns the kinds of the component's objects, in the order of the target's.
func Kinds[T Target](c Component[T], t T) []client.ObjectList {
	files, err := c.files()
	if err != nil {
		panic(err) // assets are constant
	}
	return slices.DeleteFunc(t.Kinds(), func(kind client.ObjectList) bool {
		return !slices.ContainsFunc(files, func(file string) bool {
			obj, err := c.decode(file)
			return err == nil && isOneOf(obj, []client.ObjectList{kind})
		})
	})
}

// isOneOf reports whether the object is of one of these kinds.
func isOneOf(obj client.Object, kinds []client.ObjectList) bool {
	return slices.ContainsFunc(kinds, func(list client.ObjectList) bool {
		untyped, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return reflect.TypeOf(list).Elem().Name() == reflect.TypeOf(obj).Elem().Name()+"List"
		}
		kind := untyped.GroupVersionKind()
		return list.GetObjectKind().GroupVersionKind() == kind.GroupVersion().WithKind(kind.Kind+"List")
	})
}

// decode decodes an asset. The object belongs to the caller.
func (c Component[T]) decode(file string) (client.Object, error) {
	text, err := fs.ReadFile(c.Assets, file)
	if err != nil {
		return nil, err
	}
	cached, ok := decoded.Load(string(text))
	if !ok {
		cached, _, err = assets.Decode(text, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			cached, err = decodeUntyped(text)
		}
		if err != nil {
			return nil, err
		}
		decoded.Store(string(text), cached)
	}
	obj, ok := cached.(runtime.Object).DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("a %T is no object", cached)
	}
	return obj, nil
}

// decodeUntyped decodes an object of a Go type that is not linked, such as an APIService. The target lists its kind, and the golden
// files are the only check of its fields.
func decodeUntyped(text []byte) (*unstructured.Unstructured, error) {
	content, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, obj.UnmarshalJSON(content)
}

// decoded caches the objects of assets by their text. Every reconcile needs them, and parsing YAML would be most of its work.
var decoded sync.Map

// assets decodes YAML. A field that the type does not have is an error.
var assets = serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
