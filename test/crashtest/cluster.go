package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/internal/apply"
)

// A Cluster is a fake API server with the two controllers that every cluster has: the namespace controller, which empties
// deleted namespaces, and the garbage collector, which deletes objects of a deleted owner (CollectGarbage).
type Cluster struct {
	// Calls counts the calls of the controller under test and ends them at a simulated crash.
	Calls *CallCounter
	// OtherCalls counts the calls of all others.
	OtherCalls *CallCounter

	raw    client.WithWatch
	scheme *runtime.Scheme
	kinds  []client.ObjectList
	uids   *uids
	faults *faults
}

// Options configure a Cluster.
type Options struct {
	Scheme *runtime.Scheme
	// Converters define by which keys lists merge in server-side apply. Without a converter for the project's own types,
	// two writers of one status would overwrite each other.
	Converters []managedfields.TypeConverter
	// Kinds are the list types of all objects that the controller may write.
	Kinds []client.ObjectList
	// WithStatus are the types that have a status subresource.
	WithStatus []client.Object
	// Index is passed to the fake client, for controllers that list by field.
	Index func(*fake.ClientBuilder)
	// FirstUID is the number in the UID of the first object. Clusters that share an account of AWS need different ones, because resources are
	// tagged with UIDs.
	FirstUID int
}

// NewCluster returns an empty cluster.
func NewCluster(opts Options) *Cluster {
	b := fake.NewClientBuilder().WithScheme(opts.Scheme).WithStatusSubresource(opts.WithStatus...).
		WithTypeConverters(append(slices.Clone(opts.Converters), managedfields.NewDeducedTypeConverter())...)
	if opts.Index != nil {
		opts.Index(b)
	}
	return &Cluster{Calls: &CallCounter{}, OtherCalls: &CallCounter{}, raw: b.Build(), scheme: opts.Scheme, kinds: opts.Kinds, uids: &uids{next: opts.FirstUID}, faults: &faults{}}
}

// Client is the client of the controller under test. Its calls are counted.
func (c *Cluster) Client() client.Client { return c.Calls.client(c.raw, c.scheme, c.uids, c.faults) }

// Admin is the client of all others: the user, other controllers, the test. Its calls do not fail.
func (c *Cluster) Admin() client.Client {
	return c.OtherCalls.client(c.raw, c.scheme, c.uids, &faults{})
}

// Create creates objects as the user. An error fails the test.
func (c *Cluster) Create(t testing.TB, objs ...client.Object) {
	t.Helper()
	for _, obj := range objs {
		if err := c.Admin().Create(t.Context(), obj.DeepCopyObject().(client.Object)); err != nil {
			t.Fatalf("creating %s: %v", describe(obj, c.scheme), err)
		}
	}
}

// CollectGarbage does the work of the namespace controller and of the garbage collector: it empties deleted namespaces and
// deletes objects of a deleted controller. A deleted Namespace stays until it is empty.
func (c *Cluster) CollectGarbage(ctx context.Context) error {
	for again := true; again; {
		again = false
		objs, err := c.objects(ctx)
		if err != nil {
			return err
		}
		alive := map[types.UID]bool{}
		terminating, occupied := map[string]bool{}, map[string]bool{}
		for _, o := range objs {
			alive[o.GetUID()] = true
			occupied[o.GetNamespace()] = true
			if isNamespace(o) {
				terminating[o.GetName()] = !o.GetDeletionTimestamp().IsZero()
				if o.GetDeletionTimestamp().IsZero() && !slices.Contains(o.GetFinalizers(), namespaceFinalizer) {
					o.SetFinalizers(append(o.GetFinalizers(), namespaceFinalizer))
					if err := c.raw.Update(ctx, o); err != nil {
						return err
					}
				}
			}
		}
		for _, o := range objs {
			owner := metav1.GetControllerOf(o)
			orphan := owner != nil && !alive[owner.UID]
			switch {
			case isNamespace(o) && terminating[o.GetName()] && !occupied[o.GetName()]:
				o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == namespaceFinalizer }))
				if err := c.raw.Update(ctx, o); client.IgnoreNotFound(err) != nil {
					return err
				}
				again = true
			case o.GetDeletionTimestamp().IsZero() && (orphan || terminating[o.GetNamespace()]):
				if err := c.raw.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
					return err
				}
				again = true
			}
		}
	}
	return nil
}

func isNamespace(obj client.Object) bool {
	_, is := obj.(*corev1.Namespace)
	return is
}

// namespaceFinalizer replaces the "kubernetes" finalizer in the spec of a Namespace, which the fake API server does not
// support.
const namespaceFinalizer = "kubernetes.io/namespace"

// Snapshot returns all objects of the cluster as text. Values that differ between two equal runs are left out.
func (c *Cluster) Snapshot(ctx context.Context) (string, error) {
	objs, err := c.all(ctx)
	if err != nil {
		return "", err
	}
	texts := make([]string, 0, len(objs))
	for _, o := range objs {
		text, err := yaml.Marshal(normalized(o))
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	sort.Strings(texts)
	return strings.Join(texts, "---\n"), nil
}

func normalized(o *unstructured.Unstructured) map[string]any {
	content := o.DeepCopy().Object
	metadata := content["metadata"].(map[string]any)
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "deletionTimestamp", "generation", "managedFields"} {
		delete(metadata, field)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok && len(o.GetOwnerReferences()) > 0 {
		delete(annotations, apply.AppliedAnnotation) // the digest contains the UID of the owner
	}
	if data, ok := content["data"].(map[string]any); ok && o.GetKind() == "Secret" {
		for k := range data { // keys differ between runs
			data[k] = "..."
		}
	}
	scrub(content)
	return content
}

// scrub removes times and UIDs, which differ between runs, and sorts conditions by type: their order depends on the order
// of events and has no meaning.
func scrub(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range []string{"lastTransitionTime", "startedTime", "completionTime", "lastReleaseImageTransitionTime", "uid"} {
			delete(v, field)
		}
		if conditions, ok := v["conditions"].([]any); ok {
			slices.SortFunc(conditions, func(a, b any) int { return strings.Compare(typeOf(a), typeOf(b)) })
		}
		for _, child := range v {
			scrub(child)
		}
	case []any:
		for _, child := range v {
			scrub(child)
		}
	}
}

func typeOf(condition any) string {
	c, _ := condition.(map[string]any)
	t, _ := c["type"].(string)
	return t
}

func (c *Cluster) all(ctx context.Context) ([]*unstructured.Unstructured, error) {
	objs, err := c.objects(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]*unstructured.Unstructured, 0, len(objs))
	for _, obj := range objs {
		u, err := asUnstructured(obj, c.scheme)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

func (c *Cluster) objects(ctx context.Context) ([]client.Object, error) {
	var objs []client.Object
	for _, kind := range c.kinds {
		list := kind.DeepCopyObject().(client.ObjectList)
		if err := c.raw.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing %T: %w", kind, err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			objs = append(objs, item.(client.Object))
		}
	}
	return objs, nil
}

func asUnstructured(obj client.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

func describe(obj client.Object, scheme *runtime.Scheme) string {
	return kind(obj, scheme) + " " + client.ObjectKeyFromObject(obj).String()
}

func kind(obj client.Object, scheme *runtime.Scheme) string {
	if gvk, err := apiutil.GVKForObject(obj, scheme); err == nil {
		return gvk.Kind
	}
	return reflect.TypeOf(obj).Elem().Name()
}

func describeApplied(obj runtime.ApplyConfiguration) string {
	u, err := appliedObject(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	return u.GetKind() + " " + client.ObjectKeyFromObject(u).String()
}

func appliedObject(obj runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	return u, json.Unmarshal(text, &u.Object)
}

// uids assigns UIDs, as an API server does.
type uids struct {
	mu   sync.Mutex
	next int
}

func (u *uids) assign(obj client.Object) {
	if obj.GetUID() != "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.next++
	obj.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", u.next)))
}

// assignApplied assigns a UID to an object that server-side apply has created.
func (u *uids) assignApplied(ctx context.Context, c client.Client, obj runtime.ApplyConfiguration) error {
	live, err := appliedObject(obj)
	if err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
		return err
	}
	if live.GetUID() != "" {
		return nil
	}
	before := live.DeepCopy()
	u.assign(live)
	return c.Patch(ctx, live, client.MergeFrom(before))
}

// returnApplied copies the result of an apply to a subresource into obj. An API server does so, the fake does not. Without
// the new resource version, a controller that writes twice in a pass would get a conflict with its own write.
func returnApplied(ctx context.Context, c client.Client, obj runtime.ApplyConfiguration) error {
	live, err := appliedObject(obj)
	if err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	text, err := json.Marshal(live)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, obj)
}
