package hostedclusterresources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// cleanupPolicy prevents the creation of load balancers, volumes and snapshots during their removal. The API server itself
// enforces the policy: a webhook would need a server.
var cleanupPolicy = part{
	name:    "cleanup",
	kinds:   []client.ObjectList{&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}},
	desired: func(*Reconciler, context.Context, *scope) ([]client.Object, error) { return assets("cleanup.yaml") },
}

const (
	// policyDelay is the time until API servers enforce a new policy.
	policyDelay = 3 * time.Second
	// cleanupInterval is the interval for checking the progress of the cloud controllers.
	cleanupInterval = 5 * time.Second
	// reportFirst is the time for the hypershift-operator to act on the report that nothing is left.
	reportFirst = time.Second
)

// unhurried runs a step that keeps the hosted cluster from creating cloud resources. A cluster that has created nothing does not
// wait for it: that nothing is left is reported first. If the HostedControlPlane stays, because machines are being
// deleted, the step runs then, and later reconciles find what was created in between.
func unhurried(run func(context.Context, *scope) error) func(context.Context, *scope) error {
	return func(ctx context.Context, s *scope) error {
		switch {
		case s.cloud == nil || !s.cloud.empty():
			return run(ctx, s)
		case s.unprotected:
			return nil
		case !meta.IsStatusConditionTrue(s.hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed):
			s.unprotected = true
			s.requeueAfter(reportFirst)
			return nil
		}
		err := run(ctx, s)
		var wait *reconcile.Waiting
		if !errors.As(err, &wait) {
			return err
		}
		s.unprotected = true
		s.requeueAfter(wait.After)
		return nil
	}
}

// blockCreation reconciles the policy. Nothing waits until API servers enforce it: a reconcile after that time searches again.
func (r *Reconciler) blockCreation(ctx context.Context, s *scope) error {
	if err := r.ensure(ctx, s, cleanupPolicy); err != nil {
		return err
	}
	if age := r.Clock.Since(s.hosted.observed[cleanupPolicy.name].at); age < policyDelay {
		s.requeueAfter(policyDelay - age)
	}
	return nil
}

// removeCloudResources deletes the objects of cloud resources, and waits until their controllers have deleted the
// resources. It does not wait for controllers that do not run.
func (r *Reconciler) removeCloudResources(ctx context.Context, s *scope) error {
	if s.cloud == nil {
		if err := r.findCloudResources(ctx, s); err != nil {
			return err
		}
		if s.cloud == nil {
			return reconcile.Unknown(cleanupInterval, hyperv1.WaitingForPermissionsReason, "waiting for the permission to list cloud resources")
		}
	}
	s.hcp.Status.RemainingCloudResources = nil
	if s.cloud.empty() {
		return nil
	}
	controllers, err := r.cloudControllers(ctx, s)
	if err != nil {
		return err
	}
	if err := s.cloud.remove(ctx, s.hosted.client, controllers.canRun()); err != nil {
		return err
	}
	remaining, lost, err := s.report(ctx, controllers)
	switch {
	case err != nil:
		return err
	case len(remaining) == 0:
		return reconcile.Wait(cleanupInterval, hyperv1.ControllerNotRunningReason, "nothing deletes %s: the controllers do not run in the hosted cluster", summarize(lost))
	}
	return reconcile.Wait(cleanupInterval, hyperv1.CloudResourcesRemainingReason, "%s", summarize(append(remaining, lost...)))
}

// maxReported is the largest number of resources in the status.
const maxReported = 1000

// report lists the resources in the status. It returns descriptions of those that a controller is about to delete, and of
// those that nothing deletes.
func (s *scope) report(ctx context.Context, controllers *cloudControllers) (remaining, lost []string, err error) {
	for _, l := range s.cloud.leftovers() {
		runs := true
		if l.lease != "" {
			if runs, err = controllers.runs(ctx, l.lease); err != nil {
				return nil, nil, err
			}
		}
		if runs {
			remaining = append(remaining, l.String())
		} else {
			lost = append(lost, l.String())
			l.Reason = hyperv1.ControllerNotRunningReason
		}
		s.hcp.Status.RemainingCloudResources = append(s.hcp.Status.RemainingCloudResources, l.LeftBehindResource)
	}
	slices.SortFunc(s.hcp.Status.RemainingCloudResources, func(a, b hyperv1.LeftBehindResource) int {
		return strings.Compare(a.Type+a.ID, b.Type+b.ID)
	})
	if len(s.hcp.Status.RemainingCloudResources) > maxReported {
		s.hcp.Status.RemainingCloudResources = s.hcp.Status.RemainingCloudResources[:maxReported]
	}
	return remaining, lost, nil
}

// remove deletes the objects. A finalizer keeps each of them until its controller has deleted the resource.
func (c *cloudResources) remove(ctx context.Context, hosted client.Client, nodesRun bool) error {
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
func (c *cloudResources) removeNodes(ctx context.Context, hosted client.Client, drain bool) error {
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
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, karpenterTermination, claim.GetCreationTimestamp().UTC().Format(time.RFC3339))
			if err := hosted.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(patch))); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("annotating NodeClaim %s: %w", claim.GetName(), err)
			}
		}
		if err := reconcile.Delete(ctx, hosted, claim); err != nil {
			return err
		}
	}
	return nil
}

// removeSnapshots deletes VolumeSnapshots, whose controller deletes their contents. A content without a VolumeSnapshot is
// deleted itself.
func (c *cloudResources) removeSnapshots(ctx context.Context, hosted client.Client) error {
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
func (c *cloudResources) removeHolders(ctx context.Context, hosted client.Client, nodesRun bool) error {
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

// maxListed is the largest number of items in a message.
const maxListed = 10

// summarize lists the first things.
func summarize(things []string) string {
	slices.Sort(things)
	if more := len(things) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(things[:maxListed], ", "), more)
	}
	return strings.Join(things, ", ")
}
