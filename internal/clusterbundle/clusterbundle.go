// Package clusterbundle collects the objects that make a hosted cluster, apart from the data of its etcd, and creates them on another
// management cluster. Everything else is derived from them by the operators.
//
//	user's namespace    HostedCluster, NodePools, Secrets and ConfigMaps that their specs name     State
//	control plane       Secrets with keys and certificates, trust bundles                         State
//	namespace           Machines with everything that they were created from, their Secrets       Machines
//	                    stored HCPEtcdBackups                                                     Machines
//
// The two parts are created one after the other: machines belong to one management cluster at a time.
package clusterbundle

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// format is the version of the encoding.
const format = 1

// A Bundle holds the objects of a cluster.
type Bundle struct {
	Format int `json:"format"`
	// HostedCluster is its namespace and name.
	HostedCluster client.ObjectKey `json:"hostedCluster"`
	// EndpointOwner is the owner tag of its VPC endpoints.
	EndpointOwner string `json:"endpointOwner"`
	// State are the objects that a control plane starts from, and Machines those of its machines, in the order of their creation.
	State    []unstructured.Unstructured `json:"state"`
	Machines []unstructured.Unstructured `json:"machines"`
}

// ControlPlaneNamespace is the namespace of the control plane.
func (b *Bundle) ControlPlaneNamespace() string {
	return names.ControlPlaneNamespace(b.HostedCluster.Namespace, b.HostedCluster.Name)
}

var (
	secretKind    = corev1.SchemeGroupVersion.WithKind("Secret")
	configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	clusterKind   = hyperv1.GroupVersion.WithKind("HostedCluster")
	poolKind      = hyperv1.GroupVersion.WithKind("NodePool")
	backupKind    = hyperv1.GroupVersion.WithKind("HCPEtcdBackup")
)

// machineKinds are the kinds of objects of machines. Owners are before the objects that they own. The hypershift-operator creates a
// MachineHealthCheck for each NodePool.
var machineKinds = []schema.GroupVersionKind{
	hyperv1.GroupVersion.WithKind("NodeBootstrapTemplate"),
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSMachineTemplate"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineDeployment"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineSet"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"},
	hyperv1.GroupVersion.WithKind("NodeBootstrap"),
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSMachine"},
}

// Collect reads the objects of a cluster from its management cluster. It returns apierrors.IsNotFound for a cluster without a control plane.
// The reader must not be a cache of a part of the objects.
func Collect(ctx context.Context, c client.Reader, cluster client.ObjectKey) (*Bundle, error) {
	return collect(ctx, c, cluster, secretKind, configMapKind)
}

// CollectForBucket does the same for a bucket that a user of the cluster has chosen. It reads no Secret of users, because a spec can name any
// Secret of its namespace: their content is that of the copies in the namespace of the control plane, which have only the keys that programs need.
func CollectForBucket(ctx context.Context, c client.Reader, cluster client.ObjectKey) (*Bundle, error) {
	b, err := collect(ctx, c, cluster, configMapKind)
	if err != nil {
		return nil, err
	}
	return b, b.restoreUserSecrets()
}

// collect collects objects of users only of these kinds.
func collect(ctx context.Context, c client.Reader, cluster client.ObjectKey, ofUsers ...schema.GroupVersionKind) (*Bundle, error) {
	b := &Bundle{Format: format, HostedCluster: cluster}
	hcp := &hyperv1.HostedControlPlane{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: b.ControlPlaneNamespace(), Name: cluster.Name}, hcp); err != nil {
		return nil, fmt.Errorf("getting the HostedControlPlane of %s: %w", cluster, err)
	}
	if hcp.Annotations[hyperv1.HostedClusterAnnotation] != cluster.String() {
		return nil, fmt.Errorf("namespace %s has the control plane of another cluster, %s", hcp.Namespace, hcp.Annotations[hyperv1.HostedClusterAnnotation])
	}
	b.EndpointOwner = hcp.EndpointOwner()
	if err := b.collectUsers(ctx, c, ofUsers); err != nil {
		return nil, err
	}
	for _, collect := range []func(context.Context, client.Reader) error{b.collectControlPlane, b.collectMachines, b.collectBackups} {
		if err := collect(ctx, c); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// restoreUserSecrets adds the Secrets that specs name and that the control plane has copies of. Programs of the control plane can write these.
func (b *Bundle) restoreUserSecrets() error {
	found := map[string]*corev1.Secret{}
	var specs []unstructured.Unstructured
	pull := ""
	for _, obj := range b.State {
		switch obj.GetKind() {
		case clusterKind.Kind:
			pull, _, _ = unstructured.NestedString(obj.Object, "spec", "pullSecret", "name")
			fallthrough
		case poolKind.Kind:
			specs = append(specs, obj)
		}
	}
	wanted := namedIn(specs)
	for _, obj := range b.State {
		if obj.GroupVersionKind() != secretKind {
			continue
		}
		name := obj.GetAnnotations()[hyperv1.CopiedFromAnnotation]
		if obj.GetName() == names.PullSecret {
			name = pull
		}
		if !slices.Contains(wanted, name) {
			continue
		}
		secret := &corev1.Secret{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, secret); err != nil {
			return fmt.Errorf("reading the copy %s of Secret %s: %w", obj.GetName(), name, err)
		}
		if known := found[name]; known != nil {
			maps.Copy(known.Data, secret.Data)
			continue
		}
		secret.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: secretKind.Kind}
		secret.ObjectMeta = metav1.ObjectMeta{Namespace: b.HostedCluster.Namespace, Name: name}
		found[name] = secret
	}
	var secrets []unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(found)) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(found[name])
		if err != nil {
			return fmt.Errorf("writing Secret %s: %w", name, err)
		}
		secrets = append(secrets, portable(unstructured.Unstructured{Object: content}))
	}
	b.State = append(secrets, b.State...)
	return nil
}

// collectUsers collects the HostedCluster, its NodePools, and objects of these kinds that they name.
func (b *Bundle) collectUsers(ctx context.Context, c client.Reader, kinds []schema.GroupVersionKind) error {
	hc, err := get(ctx, c, clusterKind, b.HostedCluster)
	if err != nil {
		return err
	}
	pools, err := list(ctx, c, poolKind, b.HostedCluster.Namespace)
	if err != nil {
		return err
	}
	pools = slices.DeleteFunc(pools, func(np unstructured.Unstructured) bool {
		name, _, _ := unstructured.NestedString(np.Object, "spec", "clusterName")
		return name != b.HostedCluster.Name
	})
	specs := append([]unstructured.Unstructured{*hc}, pools...)
	for _, name := range namedIn(specs) {
		for _, kind := range kinds {
			obj, err := get(ctx, c, kind, client.ObjectKey{Namespace: b.HostedCluster.Namespace, Name: name})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			b.State = append(b.State, portable(*obj))
		}
	}
	for _, obj := range specs {
		b.State = append(b.State, portable(obj))
	}
	return nil
}

// namedIn returns the values of all fields called name in the specs, sorted: references to Secrets and ConfigMaps have this field. Others do
// no harm, because only objects that exist are collected.
func namedIn(objs []unstructured.Unstructured) []string {
	found := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if name, ok := v["name"].(string); ok && name != "" {
				found[name] = true
			}
			for _, child := range v {
				walk(child)
			}
		case []any:
			for _, child := range v {
				walk(child)
			}
		}
	}
	for _, obj := range objs {
		walk(obj.Object["spec"])
	}
	return slices.Sorted(maps.Keys(found))
}

// collectControlPlane collects the keys and certificates. Secrets of Machines belong to the machines.
func (b *Bundle) collectControlPlane(ctx context.Context, c client.Reader) error {
	secrets, err := list(ctx, c, secretKind, b.ControlPlaneNamespace())
	if err != nil {
		return err
	}
	configMaps, err := list(ctx, c, configMapKind, b.ControlPlaneNamespace())
	if err != nil {
		return err
	}
	for _, obj := range secrets {
		switch {
		case isTransient(&obj):
		case ownedByMachines(&obj):
			b.Machines = append(b.Machines, portable(obj))
		default:
			b.State = append(b.State, portable(obj))
		}
	}
	for _, obj := range configMaps {
		if strings.HasPrefix(obj.GetLabels()[inventoryLabel], certificateInventory) {
			b.State = append(b.State, portable(obj))
		}
	}
	return nil
}

const (
	// namespaceInventory is the set of the namespace of a control plane (package isolation).
	namespaceInventory = names.HypershiftOperator + ".namespace"
	// inventoryLabel is the label of objects that an operator applies as a set (package apply).
	inventoryLabel = "hypershift.openshift.io/inventory"
	// certificateInventory is the beginning of the names of the sets of package certificates.
	certificateInventory = names.ControlPlaneOperator + ".certificate"
)

// DifferentKeys returns the name of a Secret with authorities or the signing key that differs from the same one in another management cluster, or "".
func (b *Bundle) DifferentKeys(ctx context.Context, c client.Reader) (string, error) {
	for _, obj := range b.State {
		if !slices.Contains(keyInventories, obj.GetLabels()[inventoryLabel]) || obj.GroupVersionKind() != secretKind {
			continue
		}
		other, err := get(ctx, c, secretKind, client.ObjectKeyFromObject(&obj))
		switch {
		case apierrors.IsNotFound(err):
			return obj.GetName(), nil
		case err != nil:
			return "", err
		case !reflect.DeepEqual(obj.Object["data"], other.Object["data"]):
			return obj.GetName(), nil
		}
	}
	return "", nil
}

// keyInventories are the sets of Secrets that must be the same when a cluster moves.
var keyInventories = []string{certificateInventory + "-authorities", names.HypershiftOperator + ".signing-key"}

// isTransient reports whether a Secret is derived from the management cluster, or belongs to a backup or a restore that has begun.
func isTransient(secret *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(secret.Object, "type")
	return kind == string(corev1.SecretTypeServiceAccountToken) || secret.GetName() == etcdbackup.RestoreSecret ||
		slices.ContainsFunc(secret.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.Kind == backupKind.Kind })
}

func ownedByMachines(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return slices.ContainsFunc(machineKinds, func(kind schema.GroupVersionKind) bool { return kind.Kind == o.Kind })
	})
}

// collectMachines collects the objects of machines, after the Secrets that belong to them, which collectControlPlane has found.
func (b *Bundle) collectMachines(ctx context.Context, c client.Reader) error {
	secrets := b.Machines
	b.Machines = nil
	for _, kind := range machineKinds {
		objs, err := list(ctx, c, kind, b.ControlPlaneNamespace())
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, obj := range objs {
			if obj.GetDeletionTimestamp() == nil {
				b.Machines = append(b.Machines, portable(obj))
			}
		}
	}
	b.Machines = append(b.Machines, secrets...)
	return nil
}

// collectBackups collects the stored backups, so that they can be restored by name.
func (b *Bundle) collectBackups(ctx context.Context, c client.Reader) error {
	backups := &hyperv1.HCPEtcdBackupList{}
	if err := c.List(ctx, backups, client.InNamespace(b.ControlPlaneNamespace())); err != nil {
		return fmt.Errorf("listing HCPEtcdBackups: %w", err)
	}
	for i := range backups.Items {
		if !hyperv1.IsBackupStored(&backups.Items[i]) || !backups.Items[i].DeletionTimestamp.IsZero() {
			continue
		}
		obj, err := get(ctx, c, backupKind, client.ObjectKeyFromObject(&backups.Items[i]))
		if err != nil {
			return err
		}
		status := obj.Object["status"]
		*obj = portable(*obj)
		setAnnotation(obj, hyperv1.EtcdBackupImportedAnnotation, "true")
		obj.Object["status"] = status
		b.Machines = append(b.Machines, *obj)
	}
	return nil
}

// portable returns the object without what only its API server gives a meaning to. Owners keep their kinds and names. Managed fields stay: an
// operator could not remove a field of its own later that another writer has created.
func portable(obj unstructured.Unstructured) unstructured.Unstructured {
	out := *obj.DeepCopy()
	annotations := out.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return key == corev1.LastAppliedConfigAnnotation || slices.Contains(localAnnotations, key)
	})
	if len(annotations) == 0 {
		annotations = nil
	}
	out.Object["metadata"] = map[string]any{"name": obj.GetName(), "namespace": obj.GetNamespace()}
	out.SetManagedFields(slices.DeleteFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Subresource != "" }))
	out.SetLabels(obj.GetLabels())
	out.SetAnnotations(annotations)
	var owners []metav1.OwnerReference
	for _, o := range obj.GetOwnerReferences() {
		o.UID = ""
		owners = append(owners, o)
	}
	if len(owners) > 0 {
		out.SetOwnerReferences(owners)
	}
	delete(out.Object, "status")
	return out
}

// localAnnotations are about the cluster on one management cluster.
var localAnnotations = []string{
	hyperv1.SleepAnnotation, hyperv1.SleepEtcdAnnotation,
	hyperv1.MovedFromAnnotation, hyperv1.PreviousEndpointsAnnotation, hyperv1.HandedOverAnnotation,
}

func get(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	if err := c.Get(ctx, key, obj); err != nil {
		return nil, fmt.Errorf("getting %s %s: %w", kind.Kind, key, err)
	}
	return obj, nil
}

// list returns the objects of a kind in a namespace, sorted by name.
func list(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	objs := &unstructured.UnstructuredList{}
	objs.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, objs, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing %ss of namespace %s: %w", kind.Kind, namespace, err)
	}
	slices.SortFunc(objs.Items, func(a, b unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return objs.Items, nil
}

// Encode returns the bundle as compressed JSON.
func (b *Bundle) Encode() ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := errors.Join(json.NewEncoder(w).Encode(b), w.Close()); err != nil {
		return nil, fmt.Errorf("encoding the objects of the cluster: %w", err)
	}
	return out.Bytes(), nil
}

// maxDecoded bounds the size of a bundle, which is read from a bucket: thousands of machines have a few MiB.
const maxDecoded = 256 << 20

// Decode reads a bundle.
func Decode(text []byte) (*Bundle, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("these are not the objects of a cluster: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	if err == nil && len(plain) > maxDecoded {
		err = fmt.Errorf("they have more than %d MiB", maxDecoded>>20)
	}
	b := &Bundle{}
	if err == nil {
		err = json.Unmarshal(plain, b)
	}
	if err == nil && b.Format != format {
		err = fmt.Errorf("their format is %d, and this version reads format %d", b.Format, format)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the objects of a cluster: %w", err)
	}
	return b, b.check()
}

// check rejects objects that are outside of the namespaces of the cluster, or of kinds that no bundle has.
func (b *Bundle) check() error {
	inPlane := append([]schema.GroupVersionKind{secretKind, configMapKind, backupKind}, machineKinds...)
	ofUsers := []schema.GroupVersionKind{secretKind, configMapKind, clusterKind, poolKind}
	for _, obj := range slices.Concat(b.State, b.Machines) {
		kinds := ofUsers
		if obj.GetNamespace() == b.ControlPlaneNamespace() {
			kinds = inPlane
		}
		if obj.GetNamespace() != b.HostedCluster.Namespace && obj.GetNamespace() != b.ControlPlaneNamespace() || !slices.Contains(kinds, obj.GroupVersionKind()) {
			return fmt.Errorf("%s %s/%s does not belong to the objects of cluster %s", obj.GetKind(), obj.GetNamespace(), obj.GetName(), b.HostedCluster)
		}
	}
	return nil
}
