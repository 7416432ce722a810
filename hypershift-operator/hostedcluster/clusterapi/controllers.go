package clusterapi

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// controllersSet lists the Deployments first, so that programs are stopped before
// they lose their permissions.
func controllersSet(plane controlplane.Namespace) apply.Set {
	return plane.Set(ControllersSet, controlplane.Kinds()...)
}

// bindingSet has no kinds to prune: all clusters share its name.
var bindingSet = apply.Set{Name: ControllersSet}

// EnsureControllers runs Cluster API, its AWS provider, and the cluster autoscaler if the target has its image. namespace is the UID of the control plane's namespace.
func (m Manager) EnsureControllers(ctx context.Context, t *controlplane.Target, namespace types.UID) error {
	objs, err := desiredControllers(t)
	if err != nil {
		return err
	}
	if _, err := m.Applier.Apply(ctx, bindingSet, desiredBinding(t.Namespace, namespace)); err != nil {
		return err
	}
	_, err = m.Applier.Apply(ctx, controllersSet(t.Namespace), objs...)
	return err
}

// desiredControllers returns the objects in the order of their dependencies.
func desiredControllers(t *controlplane.Target) ([]client.Object, error) {
	wanted := components.Machines
	if t.Image(names.ClusterAutoscaler) != "" {
		wanted = slices.Concat(wanted, components.Autoscaler)
	}
	objs, workloads, err := controlplane.Render(t, wanted)
	if err != nil {
		return nil, err
	}
	return slices.Concat(objs, workloads), nil
}

// RemoveControllers stops them.
func (m Manager) RemoveControllers(ctx context.Context, plane controlplane.Namespace) error {
	if _, err := m.Applier.Apply(ctx, controllersSet(plane)); err != nil {
		return err
	}
	return m.removeBinding(ctx, plane)
}

// ControllerPods selects the pods of the programs that change machines. Earlier versions had a pod for the provider.
func ControllerPods() labels.Selector {
	apps, err := labels.NewRequirement("app", selection.In, []string{names.ClusterAPI, names.CAPIProvider, names.ClusterAutoscaler})
	if err != nil {
		panic(err) // the names are constants
	}
	return labels.NewSelector().Add(*apps)
}

// HasControllers reports whether the Deployment of Cluster API still exists. As
// long as it does, Cluster API expects the Cluster to own the objects of the cluster.
func (m Manager) HasControllers(ctx context.Context, plane controlplane.Namespace) (bool, error) {
	err := m.Client.Get(ctx, plane.Key(names.ClusterAPI), &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("getting Deployment %s: %w", names.ClusterAPI, err)
	}
	return err == nil, nil
}

// desiredBinding allows Cluster API and its provider to read CustomResourceDefinitions, which have
// the versions of kinds and are in no namespace. The garbage collector deletes it
// with the namespace: until then the programs run and read.
func desiredBinding(plane controlplane.Namespace, namespace types.UID) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name: bindingName(plane), Annotations: plane.Annotations(),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: plane.Name, UID: namespace, Controller: ptr.To(true)}},
		},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "hypershift-cluster-api"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: names.ClusterAPI, Namespace: plane.Name}},
	}
}

func bindingName(plane controlplane.Namespace) string { return "hypershift-cluster-api-" + plane.Name }

func (m Manager) removeBinding(ctx context.Context, plane controlplane.Namespace) error {
	b := &rbacv1.ClusterRoleBinding{}
	err := m.Client.Get(ctx, client.ObjectKey{Name: bindingName(plane)}, b)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting ClusterRoleBinding %s: %w", bindingName(plane), err)
	}
	if err != nil || b.Annotations[hyperv1.HostedClusterAnnotation] != plane.Cluster.String() {
		return nil
	}
	return reconcile.Delete(ctx, m.Client, b)
}
