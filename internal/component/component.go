package component

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The files that hold the workload of a component: each has one of them.
const (
	deploymentFile  = "deployment.yaml"
	statefulSetFile = "statefulset.yaml"
)

// A Component is one part of a control plane.
type Component struct {
	// Name is that of its ControlPlaneComponent, of the label app of its pods
	// and of the set of its objects. Its workload has a name in its asset.
	Name string
	// Assets has a YAML file for each object, in any directory. One of them is
	// deployment.yaml or statefulset.yaml. An image in it is a key of the
	// release payload, or OperatorImage.
	Assets fs.FS
	// After names the components that come first: they have to be available,
	// and rolled out when another version is.
	After []string
	// Wanted says whether the cluster has this component; nil: every one has.
	Wanted func(*Env) bool
	// Adapters add what depends on the cluster, in their order.
	Adapters []Adapter
	// RequestServing says that users wait for its answers: a highly available
	// cluster has 3 of it, and 2 of others. Replicas in an asset win.
	RequestServing bool
	// Reloads names what it mounts and reads again by itself, as
	// "Secret/<name>" or "ConfigMap/<name>", or one key of it, as
	// "Secret/<name>/<key>": a change does not roll its pods.
	Reloads []string
	// Explain says what the last words of a program mean to a user, if that is
	// more than that it has ended: a reason, and what to do. Nil, they are repeated.
	Explain func(words string) (reason, message string)
}

// An Adapter changes or leaves out what one asset says. It is pure.
type Adapter struct {
	file  string
	adapt func(*Env, client.Object) error
	when  func(*Env) bool
}

// File is the name of the asset that it is about.
func (a Adapter) File() string { return a.file }

// On adapts the object of a file.
func On[T client.Object](file string, adapt func(*Env, T) error) Adapter {
	return Adapter{file: file, adapt: func(env *Env, obj client.Object) error {
		typed, ok := obj.(T)
		if !ok {
			return fmt.Errorf("it is a %T, and its adapter takes a %T", obj, typed)
		}
		return adapt(env, typed)
	}}
}

// Only leaves a file out unless the cluster is such a one.
func Only(file string, when func(*Env) bool) Adapter { return Adapter{file: file, when: when} }

// Container finds a container of the pod, be it an init container, for an
// adapter to change. It panics if there is none: the asset says which there are.
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

// Render says what the objects of the component are in that cluster, in the
// order of their files, the workload last: what it mounts is there before it.
func Render(c Component, env *Env) ([]client.Object, error) {
	files, err := c.files()
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", c.Name, err)
	}
	var objs []client.Object
	for _, file := range files {
		obj, err := c.render(file, env)
		if err != nil {
			return nil, fmt.Errorf("component %s, %s: %w", c.Name, path.Base(file), err)
		}
		if obj != nil {
			objs = append(objs, obj)
		}
	}
	w, err := workloadIn(objs)
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", c.Name, err)
	}
	if err := c.finish(env, w, objs); err != nil {
		return nil, fmt.Errorf("component %s: %w", c.Name, err)
	}
	return objs, nil
}

// files are the paths of the assets, that of the workload last.
func (c Component) files() ([]string, error) {
	var files []string
	workload := ""
	err := fs.WalkDir(c.Assets, ".", func(p string, d fs.DirEntry, err error) error {
		switch base := path.Base(p); {
		case err != nil || d.IsDir() || !strings.HasSuffix(p, ".yaml"):
		case base == deploymentFile, base == statefulSetFile:
			workload = p
		default:
			files = append(files, p)
		}
		return err
	})
	if err == nil && workload == "" {
		err = fmt.Errorf("it has neither %s nor %s", deploymentFile, statefulSetFile)
	}
	return append(files, workload), err
}

// render reads one object and lets the adapters have it; nil if they leave it out.
func (c Component) render(file string, env *Env) (client.Object, error) {
	for _, a := range c.Adapters {
		if a.when != nil && a.file == path.Base(file) && !a.when(env) {
			return nil, nil
		}
	}
	obj, err := c.decode(file)
	if err != nil {
		return nil, err
	}
	if !pruned(obj) {
		return nil, fmt.Errorf("a %T would not be removed again: add its kind to those of components", obj)
	}
	if _, isBudget := obj.(*policyv1.PodDisruptionBudget); isBudget && !env.HighlyAvailable() {
		return nil, nil // of one pod, none could ever be moved
	}
	c.begin(env, obj)
	for _, a := range c.Adapters {
		if a.adapt == nil || a.file != path.Base(file) {
			continue
		}
		if err := a.adapt(env, obj); err != nil {
			return nil, err
		}
	}
	return obj, nil
}

// decode reads an asset, whose object then belongs to the caller.
func (c Component) decode(file string) (client.Object, error) {
	text, err := fs.ReadFile(c.Assets, file)
	if err != nil {
		return nil, err
	}
	known, ok := decoded.Load(string(text))
	if !ok {
		if known, _, err = assets.Decode(text, nil, nil); err != nil {
			return nil, err
		}
		decoded.Store(string(text), known)
	}
	obj, ok := known.(runtime.Object).DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("a %T is no object", known)
	}
	return obj, nil
}

// decoded has the objects of assets by their text. Every pass wants them, and to
// read YAML would be most of its work.
var decoded sync.Map

// assets reads YAML. What an asset says and no field takes is an error.
var assets = serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
