package cloudcleanup

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Interval is the interval for checking the progress of the controllers.
const Interval = 5 * time.Second

// Remove deletes the objects of cloud resources, and reports the resources that their controllers have not deleted yet.
func (c *Resources) Remove(ctx context.Context, hosted client.Client, now time.Time) (Report, error) {
	if c.Empty() {
		return Report{}, nil
	}
	running, err := findControllers(ctx, hosted, now)
	if err != nil {
		return Report{}, err
	}
	if err := c.remove(ctx, hosted, running.canRun()); err != nil {
		return Report{}, err
	}
	return c.report(ctx, running)
}

// remove deletes the objects. A finalizer keeps each of them until its controller has deleted the resource.
func (c *Resources) remove(ctx context.Context, hosted client.Client, nodesRun bool) error {
	var objs []client.Object
	for i := range c.services {
		objs = append(objs, &c.services[i])
	}
	for i := range c.ingresses {
		objs = append(objs, &c.ingresses[i])
	}
	for i := range c.claims {
		objs = append(objs, &c.claims[i])
	}
	for i := range c.volumes {
		if c.volumes[i].Spec.ClaimRef == nil { // no claim deletes it
			objs = append(objs, &c.volumes[i])
		}
	}
	for _, obj := range objs {
		if err := reconcile.Delete(ctx, hosted, obj); err != nil {
			return err
		}
	}
	if err := c.removeSnapshots(ctx, hosted); err != nil {
		return err
	}
	if err := c.removeHolders(ctx, hosted, nodesRun); err != nil || !c.onlyNodes() {
		return err // the controllers of volumes run on nodes
	}
	return c.removeNodes(ctx, hosted, false)
}

// karpenterTermination is the annotation with the time after which Karpenter terminates an instance although its node is not
// drained yet.
const karpenterTermination = "karpenter.sh/nodeclaim-termination-timestamp"

// removeNodes deletes the NodePools of Karpenter, and then the nodes. If they are not drained, Karpenter does not wait for their
// pods. It deletes the launch templates with an EC2NodeClass after its last node.
func (c *Resources) removeNodes(ctx context.Context, hosted client.Client, drain bool) error {
	for _, objs := range [][]unstructured.Unstructured{c.pools, c.classes} {
		for i := range objs {
			if err := reconcile.Delete(ctx, hosted, &objs[i]); err != nil {
				return err
			}
		}
	}
	for i := range c.nodes {
		claim := &c.nodes[i]
		if !drain && claim.GetAnnotations()[karpenterTermination] == "" {
			patch := mergepatch.Annotations(map[string]string{karpenterTermination: claim.GetCreationTimestamp().UTC().Format(time.RFC3339)})
			if err := hosted.Patch(ctx, claim, patch); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("annotating NodeClaim %s: %w", claim.GetName(), err)
			}
		}
		if err := reconcile.Delete(ctx, hosted, claim); err != nil {
			return err
		}
	}
	return nil
}

// removeSnapshots deletes VolumeSnapshots. Their controller deletes the contents. A content without a VolumeSnapshot is
// deleted itself.
func (c *Resources) removeSnapshots(ctx context.Context, hosted client.Client) error {
	for i := range c.snapshots {
		content := &c.snapshots[i]
		snapshot := &unstructured.Unstructured{}
		snapshot.SetGroupVersionKind(schema.GroupVersionKind{Group: snapshotGroup, Version: "v1", Kind: "VolumeSnapshot"})
		snapshot.SetNamespace(field(content, "spec", "volumeSnapshotRef", "namespace"))
		snapshot.SetName(field(content, "spec", "volumeSnapshotRef", "name"))
		if snapshot.GetName() != "" {
			err := hosted.Delete(ctx, snapshot)
			if err == nil {
				continue
			}
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("deleting VolumeSnapshot %s/%s: %w", snapshot.GetNamespace(), snapshot.GetName(), err)
			}
		}
		if err := reconcile.Delete(ctx, hosted, content); err != nil {
			return err
		}
	}
	return nil
}

// removeHolders deletes the pods that use the claims. Without a node on which they could terminate they get no grace period.
func (c *Resources) removeHolders(ctx context.Context, hosted client.Client, nodesRun bool) error {
	if len(c.claims) == 0 {
		return nil
	}
	going := map[client.ObjectKey]bool{}
	for i := range c.claims {
		going[client.ObjectKeyFromObject(&c.claims[i])] = true
	}
	pods := &corev1.PodList{}
	if err := hosted.List(ctx, pods); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	opts := &client.DeleteOptions{}
	if !nodesRun {
		opts.GracePeriodSeconds = ptr.To[int64](0)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if nodesRun && !pod.DeletionTimestamp.IsZero() || !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			name := ""
			if v.PersistentVolumeClaim != nil {
				name = v.PersistentVolumeClaim.ClaimName
			} else if v.Ephemeral != nil {
				name = pod.Name + "-" + v.Name
			}
			return name != "" && going[client.ObjectKey{Namespace: pod.Namespace, Name: name}]
		}) {
			continue
		}
		if err := hosted.Delete(ctx, pod, opts); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return nil
}
