package teardown

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/infraid"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/oidc"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A Manager deletes control planes. It has no state of its own.
type Manager struct {
	Client client.Client
	// Reader reads past the cache.
	Reader   client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// ClusterAPI is nil if the management cluster lacks its CRDs.
	ClusterAPI *clusterapi.Manager
	Documents  *oidc.Publisher
	InfraIDs   infraid.Reservations
	// EndpointServices is whether this installation can delete endpoint services.
	EndpointServices bool
}

// deletionInterval is the interval of checks during a deletion. Most objects are
// watched; it is for objects without a watch that reports their end.
const deletionInterval = 30 * time.Second

// Steps returns the steps of a deletion, in their order.
func (m *Manager) Steps() []reconcile.Step[*Cluster] {
	return []reconcile.Step[*Cluster]{
		{Name: "requirements of the control-plane-operator", Run: m.retainOperator},
		{Name: "handover", Run: m.handOver},
		{Name: "end of the sleep", Run: m.wake},
		{Name: "last backup", Run: m.awaitLastBackup},
		{Name: "cloud resources whose controllers run on nodes", Run: m.cleanUpWithNodes},
		{Name: "node pools", Run: m.deleteNodePools},
		{Name: "machines", Run: m.deleteMachines},
		{Name: "cloud resources of the hosted cluster", Run: m.awaitCleanup},
		{Name: "endpoints", Run: m.deleteEndpoints},
		{Name: "HostedControlPlane", Run: m.deleteControlPlane},
		{Name: "Cluster API objects", Run: m.deleteCluster},
		{Name: "OIDC documents", Run: m.removeDocuments},
		{Name: "control-plane-operator", Run: m.stopOperator},
		{Name: "namespace", Run: m.deleteNamespace},
		{Name: "grace period", Run: m.waitGracePeriod},
		{Name: "infraID", Run: m.reserveInfraID},
		{Name: "finalizer", Run: m.removeFinalizer},
	}
}

// lastBackupInterval is the interval of checks for the end of the last backup.
const lastBackupInterval = 5 * time.Second

// awaitLastBackup waits for the backup that an EtcdBackupSchedule makes before a cluster is deleted. A schedule that is invalid, or that no
// longer selects the cluster, makes none, so that the wait ends here.
func (m *Manager) awaitLastBackup(ctx context.Context, c *Cluster) error {
	if !slices.Contains(c.HostedCluster.Finalizers, hyperv1.LastBackupFinalizer) {
		return nil
	}
	if c.HostedCluster.IsHandedOver() { // the cluster lives on
		return reconcile.RemoveFinalizer(ctx, m.Client, c.HostedCluster, hyperv1.LastBackupFinalizer)
	}
	if deleted := c.HostedCluster.DeletionTimestamp; !deleted.IsZero() && !c.isOverdue(deleted.Time, m.Clock.Now()) {
		return reconcile.Wait(lastBackupInterval, hyperv1.DeletingReason, "waiting for the last backup of etcd, which an EtcdBackupSchedule makes")
	}
	m.Recorder.Eventf(c.HostedCluster, nil, corev1.EventTypeWarning, hyperv1.LastBackupMissingReason, "Delete", "The cluster is deleted without the last backup of etcd that an EtcdBackupSchedule should have made")
	return reconcile.RemoveFinalizer(ctx, m.Client, c.HostedCluster, hyperv1.LastBackupFinalizer)
}

// deleteEndpoints waits for both operators to delete their half. The
// HostedControlPlane is deleted at the same time, so that no new endpoints are
// created; it exists until its operator is done.
func (m *Manager) deleteEndpoints(ctx context.Context, c *Cluster) error {
	if c.ControlPlane != nil {
		if err := m.delete(ctx, c.ControlPlane); err != nil {
			return err
		}
	}
	var remaining []string
	for i := range c.Endpoints {
		es := &c.Endpoints[i]
		if err := m.delete(ctx, es); err != nil {
			return err
		}
		if err := m.orphanEndpoint(ctx, c, es); err != nil {
			return err
		}
		remaining = append(remaining, es.Name+" ("+endpointDetail(es, m.EndpointServices)+")")
	}
	if len(remaining) > 0 {
		return reconcile.Wait(deletionInterval, hyperv1.CloudResourcesRemainingReason, "waiting for AWSEndpointServices to be deleted: %s%s", strings.Join(remaining, ", "), c.blockedDetail())
	}
	return nil
}

// endpointDetail returns the report of an AWSEndpointService during its deletion,
// unless no operator is able to continue it.
func endpointDetail(es *hyperv1.AWSEndpointService, endpointServices bool) string {
	condition := hyperv1.AWSEndpointServiceAvailable
	switch {
	case hasOperatorFinalizer(es):
		condition = hyperv1.AWSEndpointAvailable
	case !endpointServices && slices.Contains(es.Finalizers, hyperv1.HypershiftOperatorFinalizer):
		return "this installation cannot delete endpoint services: start the hypershift-operator with --private-platform=AWS"
	}
	if c := meta.FindStatusCondition(es.Status.Conditions, condition); c != nil && c.Message != "" {
		return c.Message
	}
	return "deletion is requested"
}

func (m *Manager) deleteControlPlane(ctx context.Context, c *Cluster) error {
	if c.ControlPlane == nil {
		return nil
	}
	if err := m.passOnWish(ctx, c); err != nil {
		return err
	}
	if err := m.delete(ctx, c.ControlPlane); err != nil {
		return err
	}
	if err := m.orphanControlPlane(ctx, c); err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for HostedControlPlane %s to be deleted%s%s", c.ControlPlane.Name, remainingDetail(c.ControlPlane), c.blockedDetail())
}

// remainingDetail returns why a HostedControlPlane still exists, as the end of a
// sentence.
func remainingDetail(hcp *hyperv1.HostedControlPlane) string {
	c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.AWSDefaultSecurityGroupDeleted)
	if c == nil || c.Status == metav1.ConditionTrue || !hasOperatorFinalizer(hcp) {
		return ""
	}
	return " (" + c.Message + ")"
}

// stopOperator stops the control-plane-operator, which has completed its work. The namespace is deleted several seconds
// later. If it had pods then, Kubernetes would continue its deletion only after half of their grace period.
func (m *Manager) stopOperator(ctx context.Context, c *Cluster) error {
	if c.Namespace == nil || c.namespaceTerminating() || c.Operator == nil {
		return nil
	}
	return m.delete(ctx, c.Operator)
}

// deleteNamespace deletes everything else. A namespace of another owner is kept.
func (m *Manager) deleteNamespace(ctx context.Context, c *Cluster) error {
	if c.Namespace == nil {
		// The cache may not have a namespace that the last reconcile created.
		ns := &corev1.Namespace{}
		err := m.Reader.Get(ctx, client.ObjectKey{Name: c.Plane.Name}, ns)
		if apierrors.IsNotFound(err) || err == nil && !controlplane.Owns(c.HostedCluster, ns) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("getting namespace %s: %w", c.Plane.Name, err)
		}
		c.Namespace = ns
	}
	if err := m.delete(ctx, c.Namespace); err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for namespace %s to be deleted", c.Plane.Name)
}

// delete deletes an object that is not being deleted yet.
func (m *Manager) delete(ctx context.Context, obj client.Object) error {
	return reconcile.Delete(ctx, m.Client, obj)
}

// waitGracePeriod keeps the object so that users can read its final state.
func (m *Manager) waitGracePeriod(_ context.Context, c *Cluster) error {
	period := duration(c.HostedCluster, hyperv1.DestroyGracePeriodAnnotation, 0)
	if period == 0 {
		return nil
	}
	now := m.Clock.Now()
	remaining := waitingSince(&c.HostedCluster.Status, hyperv1.WaitForGracePeriod, now).Add(period).Sub(now)
	if remaining <= 0 {
		return nil
	}
	return reconcile.Wait(remaining, hyperv1.WaitingForGracePeriodReason, "everything is gone; the object stays for %s", period)
}

func (m *Manager) reserveInfraID(ctx context.Context, c *Cluster) error {
	if c.HostedCluster.IsHandedOver() {
		return nil
	}
	return m.InfraIDs.Add(ctx, c.HostedCluster)
}

func (m *Manager) removeFinalizer(ctx context.Context, c *Cluster) error {
	return reconcile.RemoveFinalizer(ctx, m.Client, c.HostedCluster, hyperv1.HostedClusterFinalizer)
}
