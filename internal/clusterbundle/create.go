package clusterbundle

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

// pausedForever is the value of spec.pausedUntil of what is created.
const pausedForever = "true"

// A ConflictError is returned for an object that exists with another content.
type ConflictError struct{ Kind, Namespace, Name string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s %s/%s exists with another content: delete or rename it", e.Kind, e.Namespace, e.Name)
}

// CreateState creates the state of the cluster, with a HostedCluster and NodePools that are paused. annotations are added to the HostedCluster.
// Objects that an earlier call has created stay as they are.
func (b *Bundle) CreateState(ctx context.Context, c client.Client, annotations map[string]string) error {
	if _, err := create(ctx, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.HostedCluster.Namespace}}); err != nil {
		return err
	}
	var ofPlane []unstructured.Unstructured
	for _, obj := range b.State {
		if obj.GetNamespace() == b.ControlPlaneNamespace() {
			ofPlane = append(ofPlane, obj)
			continue
		}
		if err := b.createForUser(ctx, c, *obj.DeepCopy(), annotations); err != nil {
			return err
		}
	}
	if err := b.createNamespace(ctx, c); err != nil {
		return err
	}
	for i := range ofPlane {
		obj := ofPlane[i].DeepCopy()
		obj.SetOwnerReferences(nil) // the operators set their HostedControlPlane
		if _, err := create(ctx, c, obj); err != nil {
			return err
		}
	}
	return nil
}

// createForUser creates an object in the namespace of users. It does not use the object of another cluster.
func (b *Bundle) createForUser(ctx context.Context, c client.Client, obj unstructured.Unstructured, annotations map[string]string) error {
	obj.SetOwnerReferences(nil)
	setAnnotation(&obj, hyperv1.MovedFromAnnotation, b.EndpointOwner)
	switch obj.GetKind() {
	case clusterKind.Kind:
		for key, value := range annotations {
			setAnnotation(&obj, key, value)
		}
		fallthrough
	case poolKind.Kind:
		if err := unstructured.SetNestedField(obj.Object, pausedForever, "spec", "pausedUntil"); err != nil {
			return err
		}
	}
	wanted := obj.DeepCopy()
	existed, err := create(ctx, c, &obj)
	if err != nil || !existed {
		return err
	}
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(obj.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(&obj), existing); err != nil {
		return named(err, &obj)
	}
	conflict := &ConflictError{obj.GetKind(), obj.GetNamespace(), obj.GetName()}
	switch obj.GetKind() {
	case clusterKind.Kind:
		if existing.GetAnnotations()[hyperv1.MovedFromAnnotation] != annotations[hyperv1.MovedFromAnnotation] {
			return conflict
		}
	case poolKind.Kind:
		was, _, _ := unstructured.NestedString(existing.Object, "spec", "clusterName")
		if was != b.HostedCluster.Name {
			return conflict
		}
	default:
		for _, field := range []string{"data", "binaryData"} {
			if !reflect.DeepEqual(existing.Object[field], wanted.Object[field]) {
				return conflict
			}
		}
	}
	return nil
}

// DeleteCopies deletes the Secrets and ConfigMaps in the namespace of users that CreateState has created for a cluster from that owner of
// endpoints.
func DeleteCopies(ctx context.Context, c client.Client, namespace, from string) error {
	for _, kind := range []schema.GroupVersionKind{secretKind, configMapKind} {
		objs, err := list(ctx, c, kind, namespace)
		if err != nil {
			return err
		}
		for i := range objs {
			if objs[i].GetAnnotations()[hyperv1.MovedFromAnnotation] != from {
				continue
			}
			if err := c.Delete(ctx, &objs[i]); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting %s %s: %w", kind.Kind, objs[i].GetName(), err)
			}
		}
	}
	return nil
}

// createNamespace creates the namespace of the control plane for the HostedCluster, which exists.
func (b *Bundle) createNamespace(ctx context.Context, c client.Client) error {
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, b.HostedCluster, hc); err != nil {
		return fmt.Errorf("getting HostedCluster %s: %w", b.HostedCluster, err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: b.ControlPlaneNamespace(),
		Labels: map[string]string{
			hyperv1.ControlPlaneNamespaceLabel: "true", hyperv1.HostedClusterUIDLabel: string(hc.UID), inventoryLabel: namespaceInventory,
		},
		Annotations: map[string]string{hyperv1.HostedClusterAnnotation: b.HostedCluster.String()},
	}}
	if _, err := create(ctx, c, ns); err != nil {
		return err
	}
	existing := &corev1.Namespace{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(ns), existing); err != nil {
		return named(err, ns)
	}
	if existing.Labels[hyperv1.HostedClusterUIDLabel] != string(hc.UID) {
		return &ConflictError{Kind: "Namespace", Name: ns.Name}
	}
	return nil
}

// CreateMachines creates the objects of the machines, which Cluster API then adopts. Each is paused until all exist: a MachineDeployment
// without its MachineSet would create machines.
func (b *Bundle) CreateMachines(ctx context.Context, c client.Client) error {
	owners := map[string]types.UID{}
	var created []unstructured.Unstructured
	for _, wanted := range b.Machines {
		obj := wanted.DeepCopy()
		status, hasStatus := obj.Object["status"]
		delete(obj.Object, "status")
		if slices.Contains(machineKinds, obj.GroupVersionKind()) {
			setAnnotation(obj, clusterv1.PausedAnnotation, pausedForever)
		}
		if err := b.adopt(ctx, c, obj, owners); err != nil {
			return err
		}
		if _, err := create(ctx, c, obj); err != nil {
			return err
		}
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(obj.GroupVersionKind())
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
			return named(err, obj)
		}
		owners[obj.GetKind()+"/"+obj.GetName()] = live.GetUID()
		if hasStatus && live.Object["status"] == nil {
			live.Object["status"] = status
			if err := c.Status().Update(ctx, live); err != nil {
				return named(err, obj)
			}
		}
		created = append(created, *live)
	}
	// The objects that a controller would replace are resumed before those that it creates others from.
	for _, obj := range slices.Backward(created) {
		if obj.GetAnnotations()[clusterv1.PausedAnnotation] == "" {
			continue
		}
		if err := c.Patch(ctx, &obj, mergepatch.Annotations(map[string]any{clusterv1.PausedAnnotation: nil})); err != nil {
			return named(err, &obj)
		}
	}
	return nil
}

// adopt gives an object the owners of this management cluster. A Cluster is created by the hypershift-operator. An owner that does not exist
// is left out: the garbage collector would delete the object.
func (b *Bundle) adopt(ctx context.Context, c client.Client, obj *unstructured.Unstructured, owners map[string]types.UID) error {
	var refs []metav1.OwnerReference
	for _, ref := range obj.GetOwnerReferences() {
		key := ref.Kind + "/" + ref.Name
		uid, known := owners[key]
		if !known {
			owner := &metav1.PartialObjectMetadata{}
			owner.APIVersion, owner.Kind = ref.APIVersion, ref.Kind
			err := c.Get(ctx, client.ObjectKey{Namespace: b.ControlPlaneNamespace(), Name: ref.Name}, owner)
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("getting %s %s, which owns %s %s: %w", ref.Kind, ref.Name, obj.GetKind(), obj.GetName(), err)
			}
			uid = owner.UID
			owners[key] = uid
		}
		if ref.UID = uid; uid != "" {
			refs = append(refs, ref)
		}
	}
	obj.SetOwnerReferences(refs)
	return nil
}

func setAnnotation(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

// fieldOwner is the owner of the fields of an object until those of its writers are restored.
const fieldOwner = "hypershift-move"

// create creates an object, unless it exists. Its fields get the owners that they had at the source.
func create(ctx context.Context, c client.Client, obj client.Object) (existed bool, err error) {
	managed := obj.GetManagedFields()
	obj.SetManagedFields(nil)
	err = c.Create(ctx, obj, client.FieldOwner(fieldOwner))
	existed = apierrors.IsAlreadyExists(err)
	if err != nil && !existed || len(managed) == 0 {
		return existed, named(client.IgnoreAlreadyExists(err), obj)
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
		return existed, named(err, obj)
	}
	if !slices.ContainsFunc(live.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == fieldOwner }) {
		return existed, nil
	}
	return existed, named(c.Patch(ctx, live, mergepatch.Metadata(map[string]any{"managedFields": managed})), obj)
}

func named(err error, obj client.Object) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("creating %s %s: %w", obj.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(obj), err)
}
