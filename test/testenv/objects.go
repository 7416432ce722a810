package testenv

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Create creates objects as the user.
func (e *Env) Create(objs ...client.Object) {
	e.T.Helper()
	e.Cluster.Create(e.T, objs...)
}

// Get reads an object. Its name and namespace are set.
func (e *Env) Get(obj client.Object) {
	e.T.Helper()
	e.Must(e.Admin().Get(e.T.Context(), client.ObjectKeyFromObject(obj), obj))
}

// Exists reads an object and returns whether it exists.
func (e *Env) Exists(obj client.Object) bool {
	e.T.Helper()
	if obj.GetName() == "" {
		e.T.Fatalf("%T has no name", obj)
	}
	err := e.Admin().Get(e.T.Context(), client.ObjectKeyFromObject(obj), obj)
	e.Must(client.IgnoreNotFound(err))
	return err == nil
}

// Has reads the object of a name in Namespace and returns whether it exists.
func (e *Env) Has(obj client.Object, name string) bool {
	e.T.Helper()
	obj.SetNamespace(Namespace)
	obj.SetName(name)
	return e.Exists(obj)
}

// Read returns a copy of an object as the API server has it.
func Read[T client.Object](e *Env, obj T) T {
	e.T.Helper()
	read := obj.DeepCopyObject().(T)
	e.Get(read)
	return read
}

// List reads a list.
func (e *Env) List(list client.ObjectList, opts ...client.ListOption) {
	e.T.Helper()
	e.Must(e.Admin().List(e.T.Context(), list, opts...))
}

// Listed reads a list and returns it.
func Listed[L client.ObjectList](e *Env, list L, opts ...client.ListOption) L {
	e.T.Helper()
	e.List(list, opts...)
	return list
}

// Update writes an object without its status.
func (e *Env) Update(obj client.Object) {
	e.T.Helper()
	e.Must(e.Admin().Update(e.T.Context(), obj))
}

// UpdateStatus writes the status of an object.
func (e *Env) UpdateStatus(obj client.Object) {
	e.T.Helper()
	e.Must(e.Admin().Status().Update(e.T.Context(), obj))
}

// Put creates objects or replaces their content.
func (e *Env) Put(objs ...client.Object) {
	e.T.Helper()
	for _, obj := range objs {
		current := obj.DeepCopyObject().(client.Object)
		if !e.Exists(current) {
			e.Create(obj)
			continue
		}
		obj = obj.DeepCopyObject().(client.Object)
		obj.SetResourceVersion(current.GetResourceVersion())
		obj.SetUID(current.GetUID())
		obj.SetGeneration(current.GetGeneration())
		e.Update(obj)
	}
}

// Delete deletes objects, as a user does.
func (e *Env) Delete(objs ...client.Object) {
	e.T.Helper()
	for _, obj := range objs {
		e.Must(e.Admin().Delete(e.T.Context(), obj.DeepCopyObject().(client.Object)))
	}
}

func (e *Env) deleteObject(ctx context.Context) error {
	return e.Admin().Delete(ctx, e.Object.DeepCopyObject().(client.Object))
}

// Change reads an object, changes it as a user or another controller does, and writes it and its status. A change of the spec increments
// the generation, which the fake API server does not do.
func (e *Env) Change(obj client.Object, change func()) {
	e.T.Helper()
	e.Get(obj)
	before, generation := content(e, obj), obj.GetGeneration()
	change()
	changed := content(e, obj)
	if obj.GetGeneration() == generation && !equalExcept(before, changed, "metadata", "status") {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	desired := obj.DeepCopyObject().(client.Object)
	e.Update(obj)
	if stored := content(e, obj); !reflect.DeepEqual(stored["status"], changed["status"]) {
		desired.SetResourceVersion(obj.GetResourceVersion())
		e.UpdateStatus(desired)
	}
}

// Change is Env.Change with a function of the object.
func Change[T client.Object](e *Env, obj T, change func(T)) {
	e.T.Helper()
	e.Change(obj, func() { change(obj) })
}

func content(e *Env, obj client.Object) map[string]any {
	e.T.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	e.Must(err)
	return content
}

func equalExcept(a, b map[string]any, fields ...string) bool {
	for _, field := range fields {
		delete(a, field)
	}
	copied := map[string]any{}
	for key, value := range b {
		copied[key] = value
	}
	for _, field := range fields {
		delete(copied, field)
	}
	return reflect.DeepEqual(a, copied)
}

// HCP returns the HostedControlPlane of Namespace.
func (e *Env) HCP() *hyperv1.HostedControlPlane {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: In(Namespace, "demo")}
	e.Get(hcp)
	return hcp
}

// ChangeHCP changes the HostedControlPlane of Namespace.
func (e *Env) ChangeHCP(change func(*hyperv1.HostedControlPlane)) {
	e.T.Helper()
	Change(e, &hyperv1.HostedControlPlane{ObjectMeta: In(Namespace, "demo")}, change)
}

// objects returns the objects of a list type.
func (e *Env) objects(ctx context.Context, list client.ObjectList) ([]client.Object, error) {
	list = list.DeepCopyObject().(client.ObjectList)
	if err := e.Admin().List(ctx, list); err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	objs := make([]client.Object, 0, len(items))
	for _, item := range items {
		objs = append(objs, item.(client.Object))
	}
	return objs, nil
}

// Named reads the object of a name in Namespace and returns it.
func Named[T client.Object](e *Env, name string, obj T) T {
	e.T.Helper()
	obj.SetNamespace(Namespace)
	obj.SetName(name)
	e.Get(obj)
	return obj
}
