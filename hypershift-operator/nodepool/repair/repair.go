package repair

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machinestate"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Repair replaces machines that do not join.
type Repair struct {
	Client   client.Client
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// Replace deletes machines that did not join within startup. Their MachineSet creates others. It sets Status.Repair of the NodePool,
// and calls write to store it before the first deletion.
func (r Repair) Replace(ctx context.Context, pool *objects.Pool, startup time.Duration, write func(context.Context) error) (Plan, error) {
	if !pool.NodePool.Spec.Management.AutoRepair {
		pool.NodePool.Status.Repair = nil
		return Plan{}, nil
	}
	plan := planFor(pool, startup, r.Clock.Now())
	if len(plan.replace) == 0 {
		pool.NodePool.Status.Repair = plan.record
		return plan, nil
	}
	var err error
	if plan.blocked, err = cannotSeeNodes(ctx, r.Client, pool); err != nil || plan.blocked != "" {
		return plan, err
	}
	// The record is stored first. If the operator stops in between, the next one deletes the machines in the record, and no
	// others.
	pool.NodePool.Status.Repair = plan.record
	if err := write(ctx); err != nil {
		return plan, err
	}
	for _, m := range plan.replace {
		cause := machinestate.NoNode(pool, m).Message
		if err := reconcile.Delete(ctx, r.Client, m); err != nil {
			return plan, err
		}
		r.Recorder.Eventf(pool.NodePool, m, corev1.EventTypeWarning, "MachineReplaced", "Repair", "Machine %s did not become a node within %s and is replaced: %s", m.Name, startup, cause)
	}
	return plan, nil
}

// cannotSeeNodes returns why a machine without a node may have one all the same. Cluster API sets the node of a Machine: a
// machine that runs pods must not be deleted because Cluster API does not run, or does not reach the hosted cluster.
func cannotSeeNodes(ctx context.Context, c client.Reader, pool *objects.Pool) (string, error) {
	capi := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKey{Namespace: pool.Namespace, Name: names.ClusterAPI}, capi)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("getting Deployment %s: %w", names.ClusterAPI, err)
	}
	if apierrors.IsNotFound(err) || capi.Status.AvailableReplicas == 0 {
		return "Cluster API or its AWS provider does not run", nil
	}
	if pool.Cluster == nil || !meta.IsStatusConditionTrue(pool.Cluster.Status.Conditions, clusterv1.ClusterRemoteConnectionProbeCondition) {
		return "Cluster API does not reach the API server of the cluster", nil
	}
	return "", nil
}
