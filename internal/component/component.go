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

// The files with the workload of a component. Each component has one of them.
const (
	deploymentFile  = "deployment.yaml"
	statefulSetFile = "statefulset.yaml"
)

// A Component is one part of a control plane.
type Component struct {
	// Name is the name of its ControlPlaneComponent, of the label app of its pods and of the set of its objects. The name of
	// its workload is in its asset.
	Name string
	// Assets has a YAML file for each object, in any directory. One of them is deployment.yaml or statefulset.yaml. Its
	// images are keys of the release payload, or OperatorImage.
	Assets fs.FS
	// After names the components that precede this one during a rollout: they must be available and have completed the
	// rollout of the version.
	After []string
	// Wanted reports whether the cluster has this component. Nil means every cluster.
	Wanted func(*Env) bool
	// Adapters set what depends on the cluster, in order.
	Adapters []Adapter
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

// An Adapter changes or removes the object of one asset. It is a pure function.
type Adapter struct {
	file  string
	adapt func(*Env, client.Object) error
	when  func(*Env) bool
}

// File is the name of the asset.
func (a Adapter) File() string { return a.file }

// On returns an Adapter for the object of a file.
func On[T client.Object](file string, adapt func(*Env, T) error) Adapter {
	return Adapter{file: file, adapt: func(env *Env, obj client.Object) error {
		typed, ok := obj.(T)
		if !ok {
			return fmt.Errorf("it is a %T, and its adapter takes a %T", obj, typed)
		}
		return adapt(env, typed)
	}}
}

// Only returns an Adapter that removes a file unless the cluster meets a condition.
func Only(file string, when func(*Env) bool) Adapter { return Adapter{file: file, when: when} }

// Container returns a container or init container of the pod, for an adapter to change. It panics if there is none: assets
// are constant.
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

// Render returns the objects of the component in the order of their files. The workload is the last one, so that the objects
// it mounts exist before it.
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

// files returns the paths of the assets, with the workload as the last one.
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

// render decodes one object and runs the adapters. It returns nil if an adapter removes the object.
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
		return nil, nil // a single pod could never be evicted
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

// decode decodes an asset. The object belongs to the caller.
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

// decoded caches the objects of assets by their text. Every reconcile needs them, and parsing YAML would be most of its work.
var decoded sync.Map

// assets decodes YAML. A field that the type does not have is an error.
var assets = serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
