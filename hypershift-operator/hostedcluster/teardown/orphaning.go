package teardown

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// AwaitNamespace waits until a namespace that a user has deleted is gone, while the
// HostedCluster stays. The control-plane-operator was deleted with it and cannot run
// again, so that its finalizers would remain forever.
func (m *Manager) AwaitNamespace(ctx context.Context, c *Cluster) error {
	held := false
	for i := range c.Endpoints {
		held = held || hasOperatorFinalizer(&c.Endpoints[i])
		if err := m.orphanEndpoint(ctx, c, &c.Endpoints[i]); err != nil {
			return err
		}
	}
	if !held {
		if err := m.orphanControlPlane(ctx, c); err != nil {
			return err
		}
	}
	if err := m.orphanMachines(ctx, c); err != nil {
		return err
	}
	if m.ClusterAPI != nil {
		if _, err := m.ClusterAPI.Release(ctx, c.Machines); err != nil {
			return err
		}
	}
	return reconcile.Wait(10*time.Second, hyperv1.NamespaceInUseReason, "namespace %s is being deleted by another client; it is created again afterwards%s", c.Plane.Name, c.blockedDetail())
}

// orphanEndpoint removes the control-plane-operator's finalizer from an
// AWSEndpointService when no operator can delete its resources any more. It records the remaining
// resources in the customer's account, with ids.
func (m *Manager) orphanEndpoint(ctx context.Context, c *Cluster, es *hyperv1.AWSEndpointService) error {
	if es.DeletionTimestamp.IsZero() || !hasOperatorFinalizer(es) {
		return nil
	}
	reason := c.unrecoverable(m.Clock.Now())
	if reason == "" {
		return nil
	}
	if err := m.recordLeft(ctx, c, es, reason, endpointResources(es)...); err != nil {
		return err
	}
	if err := reconcile.RemoveFinalizer(ctx, m.Client, es, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return fmt.Errorf("orphaning AWSEndpointService %s: %w", es.Name, err)
	}
	return nil
}

// orphanControlPlane removes the finalizers of a HostedControlPlane if its operator
// cannot run again. The namespace is deleted with the objects that they protect: Services, Routes and
// pods.
func (m *Manager) orphanControlPlane(ctx context.Context, c *Cluster) error {
	if c.ControlPlane == nil || c.ControlPlane.DeletionTimestamp.IsZero() {
		return nil
	}
	for _, r := range resourcesWithOwnRole {
		if err := m.orphanWithOwnRole(ctx, c, r); err != nil {
			return err
		}
	}
	if err := m.orphanWorkerSecurityGroup(ctx, c); err != nil || !c.namespaceLost(m.Clock.Now()) {
		return err
	}
	for _, finalizer := range []string{hyperv1.HostedClusterFinalizer, hyperv1.ControlPlaneComponentsFinalizer} {
		if err := reconcile.RemoveFinalizer(ctx, m.Client, c.ControlPlane, finalizer); err != nil {
			return fmt.Errorf("orphaning HostedControlPlane %s: %w", c.ControlPlane.Name, err)
		}
	}
	return nil
}

// orphanWorkerSecurityGroup does the same for the security group of the workers,
// which belongs to the HostedControlPlane.
func (m *Manager) orphanWorkerSecurityGroup(ctx context.Context, c *Cluster) error {
	reason := c.unrecoverable(m.Clock.Now())
	if reason == "" || !hasOperatorFinalizer(c.ControlPlane) {
		return nil
	}
	if group := workerSecurityGroup(c.ControlPlane); group != nil {
		if err := m.recordLeft(ctx, c, c.ControlPlane, reason, *group); err != nil {
			return err
		}
	}
	if err := reconcile.RemoveFinalizer(ctx, m.Client, c.ControlPlane, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return fmt.Errorf("orphaning the security group of the workers: %w", err)
	}
	return nil
}

// withOwnRole are resources of a HostedControlPlane with a role of their own.
type withOwnRole struct {
	// noun is the plural in messages.
	noun                 string
	condition, finalizer string
	left                 func(*hyperv1.HostedControlPlane) []hyperv1.LeftBehindResource
}

var resourcesWithOwnRole = []withOwnRole{
	{"the DNS records of applications", hyperv1.IngressRecordsAvailable, hyperv1.IngressRecordsFinalizer, ingressRecords},
	{"the images of the image registry", hyperv1.ImageRegistryBucketAvailable, hyperv1.ImageRegistryFinalizer, imageRegistryBucket},
}

// orphanWithOwnRole does the same for these resources, also if AWS has refused their deletion for the whole period, for example because their role
// is gone. A condition that is not False is no evidence of a refusal.
func (m *Manager) orphanWithOwnRole(ctx context.Context, c *Cluster, r withOwnRole) error {
	now := m.Clock.Now()
	reason := c.unrecoverable(now)
	reported := meta.FindStatusCondition(c.ControlPlane.Status.Conditions, r.condition)
	if reason == "" && reported != nil && reported.Status == metav1.ConditionFalse && c.isOverdue(reported.LastTransitionTime.Time, now) {
		reason = r.noun + " could not be deleted: " + reported.Message
	}
	if reason == "" || !slices.Contains(c.ControlPlane.Finalizers, r.finalizer) {
		return nil
	}
	if left := r.left(c.ControlPlane); len(left) > 0 {
		if err := m.recordLeft(ctx, c, c.ControlPlane, reason, left...); err != nil {
			return err
		}
	}
	if err := reconcile.RemoveFinalizer(ctx, m.Client, c.ControlPlane, r.finalizer); err != nil {
		return fmt.Errorf("orphaning %s: %w", r.noun, err)
	}
	return nil
}

// recordLeft records orphaned resources in the status and in an event. It precedes
// the removal of the finalizer that waits for them, so that they are reported even
// if the process dies in between.
func (m *Manager) recordLeft(ctx context.Context, c *Cluster, related runtime.Object, reason string, resources ...hyperv1.LeftBehindResource) error {
	recordLeftBehind(&c.HostedCluster.Status, resources)
	if err := c.Save(ctx); err != nil {
		return err
	}
	remaining := describeAll(resources)
	ctrl.LoggerFrom(ctx).Info("Leaving cloud resources behind", "why", reason, "left", remaining)
	m.Recorder.Eventf(c.HostedCluster, related, corev1.EventTypeWarning, "CloudResourcesLeftBehind", "GiveUp", "%s; left behind: %s", reason, remaining)
	return nil
}
