package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// fleet is a number of HostedClusters, with so many NodePools each.
type fleet struct{ Clusters, PoolsEach int }

// fleetGoals are the goals of the restart of an operator with a fleet.
type fleetGoals struct {
	seconds float64
	peak    float64 // MB
	heap    float64 // KB, for each cluster
}

// fleetGoal is a fleet with its goals.
type fleetGoal struct {
	fleet
	fleetGoals
}

// fleets are those with which the restart of an operator is measured.
var fleets = []fleetGoal{
	{fleet{1000, 2}, fleetGoals{seconds: 25, peak: 150, heap: 60}},
	{fleet{2000, 2}, fleetGoals{seconds: 45, peak: 250, heap: 60}},
	{fleet{1000, 10}, fleetGoals{seconds: 60, peak: 300, heap: 180}},
}

const (
	// fleetPatience is the timeout of every operation on a fleet.
	fleetPatience = 15 * time.Minute
	// fleetSettled is the time without writes after which a fleet counts as complete. It is longer than the requeue delays
	// of controllers: the measured operator would otherwise have to complete the fleet.
	fleetSettled = 40 * time.Second
)

func (f fleet) pools() int { return f.Clusters * f.PoolsEach }

// objects is the number of HostedClusters and NodePools.
func (f fleet) objects() float64 { return float64(f.Clusters + f.pools()) }

// name is the short name of the fleet, by what it has most of.
func (f fleet) name() string {
	if f.PoolsEach > 2 {
		return thousands(f.pools()) + " NodePools"
	}
	return thousands(f.Clusters) + " HostedClusters"
}

func (f fleet) String() string {
	return thousands(f.Clusters) + " HostedClusters and " + thousands(f.pools()) + " NodePools"
}

// thousands writes a number below a million with a comma.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

func (f fleet) clusters() []*cluster {
	var all []*cluster
	for i := range f.Clusters {
		all = append(all, newCluster(fmt.Sprintf("f%04d", i)))
	}
	return all
}

// create creates the objects of the users.
func (f fleet) create(ctx context.Context, admin client.Client) error {
	return each(ctx, f.clusters(), func(ctx context.Context, cl *cluster) error {
		objects, err := cl.users()
		if err != nil {
			return err
		}
		for i := len(cl.subnets); i < f.PoolsEach; i++ {
			pool, err := cl.pool(poolName(i), cl.subnets[i%len(cl.subnets)])
			if err != nil {
				return err
			}
			objects = append(objects, pool)
		}
		return create(ctx, admin, objects...)
	})
}

// poolName is the name of a pool of a cluster, by its number: a, b, c...
func poolName(i int) string { return string(rune('a' + i)) }

// actAsControlPlanes writes the statuses for which the NodePools wait, as the control-plane-operators do, and reports the
// control planes as available: a control plane that does not start would cause status changes after two minutes.
func (f fleet) actAsControlPlanes(ctx context.Context, c client.Client) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"platform":{"aws":{"defaultWorkerSecurityGroupID":"sg-0123456789abcdef0"}}}}`))
	return each(ctx, f.clusters(), func(ctx context.Context, cl *cluster) error {
		hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: cl.namespace(), Name: cl.name}}
		if err := c.Status().Patch(ctx, hcp, patch); err != nil {
			return err
		}
		cpo := &appsv1.Deployment{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: cl.namespace(), Name: names.ControlPlaneOperator}, cpo); err != nil {
			return err
		}
		before := client.MergeFrom(cpo.DeepCopy())
		cpo.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", LastTransitionTime: metav1.Now(),
		}}
		return c.Status().Patch(ctx, cpo, before)
	})
}

// machinesMade describes a NodePool that is incomplete after the writes have ended.
func (f fleet) machinesMade(ctx context.Context, c client.Client) error {
	var made clusterv1.MachineDeploymentList
	if err := c.List(ctx, &made); err != nil || len(made.Items) == f.pools() {
		return err
	}
	var pools hyperv1.NodePoolList
	if err := c.List(ctx, &pools); err != nil {
		return err
	}
	return fmt.Errorf("%d node pools have %d MachineDeployments; the first has the conditions %+v", len(pools.Items), len(made.Items), pools.Items[0].Status.Conditions)
}

// untilIdle returns when all controllers have reconciled since then and their queues stay empty.
func (f fleet) untilIdle(ctx context.Context, since activity) (at time.Time, err error) {
	const pause, lull = 100 * time.Millisecond, 2 * time.Second
	var last activity
	var looked time.Time
	err = until(ctx, fleetPatience, func(context.Context) (bool, error) {
		if time.Since(looked) < pause { // reading the registry is expensive
			return false, nil
		}
		looked = time.Now()
		now, err := controllers()
		if err != nil {
			return false, err
		}
		if now.pending > 0 || now.passes-since.passes < f.objects() || now.passes != last.passes {
			at, last = time.Now(), now
		}
		return time.Since(at) > lull, nil
	})
	return at, err
}

// touchedPoolsInAll is the number of pools that are touched.
const touchedPoolsInAll = 200

// touchedPools is the cost of changes of pools that need nothing.
type touchedPools struct {
	CPU    float64 // seconds
	Writes int
	Passes float64
}

// touchPoolsTask touches one pool of each of some clusters, from a process of its own: its cost is not part of the operator's.
func touchPoolsTask(ctx context.Context, t *taskRun) error {
	var left legacy
	if err := t.read(&left); err != nil {
		return err
	}
	admin, err := adminOf(left.Kubeconfig)
	if err != nil {
		return err
	}
	touch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"bench.example.test/touched":"true"}}}`))
	for _, cl := range left.Fleet.clusters()[:touchedPoolsInAll] {
		pool := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: cl.userNamespace(), Name: cl.name + "-" + poolName(0)}}
		if err := admin.Patch(ctx, pool, touch); err != nil {
			return err
		}
	}
	return t.leave(struct{}{})
}

// touchedPoolsTask measures the operator while pools are touched.
func touchedPoolsTask(ctx context.Context, t *taskRun) error {
	var left legacy
	if err := t.read(&left); err != nil {
		return err
	}
	w := &writes{}
	ho, _, err := left.operator(ctx, w, resyncHO)
	if err != nil {
		return err
	}
	stop := start(ctx, ho)
	if _, err := left.Fleet.untilIdle(ctx, activity{}); err != nil {
		return err
	}
	before, err := controllers()
	if err != nil {
		return err
	}
	written, began := w.soFar().N, cpu()
	if err := do(ctx, "touch-pools", left, &struct{}{}); err != nil {
		return err
	}
	if err := w.silence(ctx); err != nil {
		return err
	}
	after, err := controllers()
	if err != nil {
		return err
	}
	touched := touchedPools{CPU: (cpu() - began).Seconds(), Writes: w.soFar().N - written, Passes: after.passes - before.passes}
	return errors.Join(stop(), t.leave(touched))
}
