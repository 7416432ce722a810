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

// deleteOrphans takes away what a NodePool has left that is gone: its user took
// our finalizer away, or deleted it in the moment in which it got the finalizer
// (see reconcile.Delete). One of the same name that is made again takes over what
// is still there.
func (r *Reconciler) deleteOrphans(ctx context.Context, key client.ObjectKey) error {
	if r.missing != "" {
		return nil
	}
	s, err := r.lost(ctx, key)
	if s == nil || err != nil {
		return err
	}
	if s.deployment != nil && s.deployment.DeletionTimestamp.IsZero() {
		ctrl.LoggerFrom(ctx).Info("The NodePool is gone, and its machines are not: taking them away")
		r.Recorder.Eventf(s.np, nil, corev1.EventTypeWarning, "NodePoolLost", "Delete",
			"The NodePool is gone without its finalizer having been waited for; its machines in namespace %s are deleted now", s.controlPlane)
	}
	return reconcile.Run(ctx, s, r.deletion()...).Err()
}

// lost gathers what is left of a pool that is gone; nil if nothing is.
func (r *Reconciler) lost(ctx context.Context, key client.ObjectKey) (*scope, error) {
	namespace, err := r.traces(ctx, key)
	if namespace == "" || err != nil {
		return nil, err
	}
	// What is acted on now must be true, and the cache may be late.
	err = r.Reader.Get(ctx, key, &hyperv1.NodePool{})
	if err == nil {
		return nil, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("making sure that NodePool %s is gone: %w", key, err)
	}
	ns := &corev1.Namespace{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		return nil, client.IgnoreNotFound(err) // with the namespace all of it goes
	}
	_, cluster, _ := strings.Cut(ns.Annotations[hyperv1.HostedClusterAnnotation], "/")
	now := metav1.NewTime(r.Clock.Now())
	s := &scope{controlPlane: namespace, np: &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, DeletionTimestamp: &now},
		Spec:       hyperv1.NodePoolSpec{ClusterName: cluster},
	}}
	return s, gatherChildren(ctx, r.Client, s)
}

// traces finds the namespace in which there is something that was made for a pool.
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
