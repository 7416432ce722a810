package component

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// lastGrace is the termination grace period of the pods of a deleted control plane, in seconds. An API server does not
// terminate at all once its etcd is gone, and the data of all of them is deleted, too.
const lastGrace = 1

// Delete deletes all components at once, and reports whether the last pod is gone.
func (r *Runner) Delete(ctx context.Context, hcp *hyperv1.HostedControlPlane) (deleted bool, err error) {
	list := &hyperv1.ControlPlaneComponentList{}
	if err := r.Client.List(ctx, list, client.InNamespace(hcp.Namespace)); err != nil {
		return false, fmt.Errorf("listing components: %w", err)
	}
	deleted = true
	for _, c := range list.Items {
		podsGone, err := r.end(ctx, hcp.Namespace, c.Name)
		if err != nil {
			return false, fmt.Errorf("ending component %s: %w", c.Name, err)
		}
		objectsGone, err := r.apply.Delete(ctx, r.setOf(hcp, c.Name))
		if err != nil {
			return false, fmt.Errorf("deleting component %s: %w", c.Name, err)
		}
		deleted = deleted && podsGone && objectsGone
	}
	if !deleted {
		return false, nil
	}
	return r.apply.Delete(ctx, statuses(hcp))
}

// end deletes the pods of a component without grace period, and their volume claims. The grace period has to be set when they are deleted: the kubelet
// ignores later changes. Therefore the controllers that would delete or recreate the pods are deleted first, and their pods
// orphaned.
func (r *Runner) end(ctx context.Context, namespace, component string) (deleted bool, err error) {
	inComponent := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{ComponentLabel: component}}
	for _, makers := range []struct {
		client.Reader
		client.ObjectList
	}{{r.Client, &appsv1.DeploymentList{}}, {r.Client, &appsv1.StatefulSetList{}}, {r.Reader, &appsv1.ReplicaSetList{}}} {
		if err := r.deleteAll(ctx, makers.Reader, makers.ObjectList, inComponent, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
			return false, err
		}
	}
	pods := &corev1.PodList{}
	if err := r.deleteClaims(ctx, inComponent); err != nil {
		return false, err
	}
	if err := r.deleteAll(ctx, r.Client, pods, inComponent, client.GracePeriodSeconds(lastGrace)); err != nil {
		return false, err
	}
	return len(pods.Items) == 0, nil
}

// deleteClaims deletes the volume claims of the pods that are not being deleted. Kubernetes keeps a claim until its pod has ended.
// The deletion of the namespace, which would delete it, too, would look for remaining claims only five seconds later.
func (r *Runner) deleteClaims(ctx context.Context, which []client.ListOption) error {
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, which...); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for _, pod := range pods.Items {
		if !pod.DeletionTimestamp.IsZero() {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim == nil {
				continue
			}
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName}}
			ctrl.LoggerFrom(ctx).Info("Deleting", "kind", "PersistentVolumeClaim", "object", client.ObjectKeyFromObject(claim).String())
			if err := r.Client.Delete(ctx, claim); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting volume claim %s: %w", claim.Name, err)
			}
		}
	}
	return nil
}

// deleteAll fills the list and deletes the objects in it that are not being deleted.
func (r *Runner) deleteAll(ctx context.Context, reader client.Reader, list client.ObjectList, which []client.ListOption, how client.DeleteOption) error {
	if err := reader.List(ctx, list, which...); err != nil {
		return fmt.Errorf("listing %T: %w", list, err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, item := range items {
		obj := item.(client.Object)
		if !obj.GetDeletionTimestamp().IsZero() {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Deleting", "kind", fmt.Sprintf("%T", obj), "object", client.ObjectKeyFromObject(obj).String())
		uid := obj.GetUID()
		if err := r.Client.Delete(ctx, obj, how, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}
