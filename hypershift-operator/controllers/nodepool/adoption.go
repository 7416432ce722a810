package nodepool

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// deleteOrphans deletes the machines of a NodePool that no longer exists. Its finalizer was removed by hand, or it was
// deleted before the finalizer was added (see reconcile.Delete). A NodePool that is created again with the same name adopts
// what still exists.
func (r *Reconciler) deleteOrphans(ctx context.Context, key client.ObjectKey) error {
	if r.missing != "" {
		return nil
	}
	s, err := r.lost(ctx, key)
	if s == nil || err != nil {
		return err
	}
	if s.deployment != nil && s.deployment.DeletionTimestamp.IsZero() {
		ctrl.LoggerFrom(ctx).Info("The NodePool no longer exists: deleting its machines")
		r.Recorder.Eventf(s.np, nil, corev1.EventTypeWarning, "NodePoolLost", "Delete",
			"The NodePool was deleted without its finalizer; its machines in namespace %s are deleted now", s.controlPlane)
	}
	return reconcile.Run(ctx, s, r.deletion()...).Err()
}

// lost gathers the objects of a NodePool that no longer exists. It returns nil if there are none.
func (r *Reconciler) lost(ctx context.Context, key client.ObjectKey) (*scope, error) {
	namespace, err := r.traces(ctx, key)
	if namespace == "" || err != nil {
		return nil, err
	}
	// The cache may be stale, and machines are about to be deleted.
	err = r.Reader.Get(ctx, key, &hyperv1.NodePool{})
	if err == nil {
		return nil, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("making sure that NodePool %s is gone: %w", key, err)
	}
	ns := &corev1.Namespace{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		return nil, client.IgnoreNotFound(err) // deleting the namespace deletes everything in it
	}
	_, cluster, _ := strings.Cut(ns.Annotations[hyperv1.HostedClusterAnnotation], "/")
	now := metav1.NewTime(r.Clock.Now())
	s := &scope{controlPlane: namespace, np: &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, DeletionTimestamp: &now},
		Spec:       hyperv1.NodePoolSpec{ClusterName: cluster},
	}}
	return s, gatherChildren(ctx, r.Client, s)
}

// traces finds the namespace with objects of a NodePool.
func (r *Reconciler) traces(ctx context.Context, key client.ObjectKey) (namespace string, err error) {
	for _, list := range []client.ObjectList{
		&clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{}, &infrav1.AWSMachineList{},
		&infrav1.AWSMachineTemplateList{}, &hyperv1.NodeBootstrapTemplateList{},
	} {
		if err := r.Client.List(ctx, list, client.MatchingLabels{hyperv1.NodePoolLabel: key.Name}); err != nil {
			return "", fmt.Errorf("looking for what NodePool %s has left: %w", key, err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			if obj := item.(client.Object); obj.GetAnnotations()[hyperv1.NodePoolAnnotation] == key.String() {
				namespace = obj.GetNamespace()
			}
			return nil
		})
		if namespace != "" || err != nil {
			return namespace, err
		}
	}
	return "", nil
}
