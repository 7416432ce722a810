package objects

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Lost returns a NodePool that no longer exists and still has objects, as if it were being deleted at time now, or nil if it exists
// or has none. Its finalizer was removed by hand, or it was deleted before the finalizer was added (see reconcile.Delete). A
// NodePool that is created again with the same name adopts these objects.
func Lost(ctx context.Context, cache client.Reader, live client.Reader, key client.ObjectKey, now time.Time) (*Pool, error) {
	namespace, err := namespaceOf(ctx, cache, key)
	if namespace == "" || err != nil {
		return nil, err
	}
	// The cache may be stale, and machines are about to be deleted.
	err = live.Get(ctx, key, &hyperv1.NodePool{})
	if err == nil {
		return nil, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("making sure that NodePool %s is gone: %w", key, err)
	}
	ns := &corev1.Namespace{}
	if err := cache.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		return nil, client.IgnoreNotFound(err) // deleting the namespace deletes everything in it
	}
	_, cluster, _ := strings.Cut(ns.Annotations[hyperv1.HostedClusterAnnotation], "/")
	p := &Pool{Namespace: namespace, NodePool: &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, DeletionTimestamp: &metav1.Time{Time: now}},
		Spec:       hyperv1.NodePoolSpec{ClusterName: cluster},
	}}
	return p, p.Read(ctx, cache)
}

// namespaceOf returns the namespace with objects of a NodePool, or "" if it has none.
func namespaceOf(ctx context.Context, c client.Reader, key client.ObjectKey) (namespace string, err error) {
	for _, list := range []client.ObjectList{
		&clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{}, &infrav1.AWSMachineList{},
		&infrav1.AWSMachineTemplateList{}, &hyperv1.NodeBootstrapTemplateList{},
	} {
		if err := c.List(ctx, list, client.MatchingLabels{hyperv1.NodePoolLabel: key.Name}); err != nil {
			return "", fmt.Errorf("listing the objects of NodePool %s: %w", key, err)
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
