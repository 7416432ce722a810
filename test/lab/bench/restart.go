package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// A fleet has two NodePools per HostedCluster.
const (
	fleetClusters = 1000
	fleetPools    = 2 * fleetClusters
	restarts      = 3
)

const (
	// fleetPatience is the timeout of every operation on a fleet.
	fleetPatience = 15 * time.Minute
	// fleetSettled is the time without writes after which a fleet counts as complete. It is longer than the requeue delays
	// of controllers: the measured operator would otherwise have to complete the fleet.
	fleetSettled = 40 * time.Second
)

func fleet() []*cluster {
	var all []*cluster
	for i := range fleetClusters {
		all = append(all, newCluster(fmt.Sprintf("f%03d", i)))
	}
	return all
}

// restart measures the start of a hypershift-operator with existing clusters.
func restart(ctx context.Context, kubeconfig string) ([]report.Row, error) {
	admin, err := adminOf(kubeconfig)
	if err != nil {
		return nil, err
	}
	err = each(ctx, fleet(), func(ctx context.Context, cl *cluster) error {
		objects, err := cl.users()
		if err != nil {
			return err
		}
		return create(ctx, admin, objects...)
	})
	if err != nil {
		return nil, err
	}
	var left legacy
	if err := do(ctx, "fleet", kubeconfig, &left); err != nil {
		return nil, err
	}
	var costs []cost
	for range restarts {
		var c cost
		if err := do(ctx, "restart", left, &c); err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	var rest fleetAtRest
	if err := do(ctx, "fleet-at-rest", left, &rest); err != nil {
		return nil, err
	}
	return restartRows(costs, []fleetAtRest{rest}), nil
}

func restartRows(costs []cost, rests []fleetAtRest) []report.Row {
	last, rest := last(costs), last(rests)
	return []report.Row{
		{What: "1,000 HostedClusters and 2,000 NodePools, operator restart → every object reconciled", Figures: []report.Figure{
			report.Within("time", 25, "s", values(costs, func(c cost) float64 { return c.Seconds })...).Earlier("25 s").
				WhatWasTried("a reconcile without changes makes no write and, with the cache of AWS, few calls."),
			report.Info("CPU", "s", values(costs, func(c cost) float64 { return c.CPU })...),
			report.Within("RSS, peak", 200, "MB", values(costs, func(c cost) float64 { return c.Memory.Peak })...).Earlier("292 MB").
				WhatWasTried("the cache keeps equal parts of objects once, and GOGC is 50.").WithDetail("%s", last.Memory.file()),
			report.Info("anonymous", "MB", values(costs, func(c cost) float64 { return c.Memory.Anonymous })...),
			report.Info("heap in use", "MB", values(costs, func(c cost) float64 { return c.Heap })...),
			report.Within("writes", 0, "", values(costs, func(c cost) float64 { return float64(c.Written.N) })...).Counted(),
			report.Info("AWS calls each", "", values(costs, func(c cost) float64 { return float64(total(c.Calls)) / fleetClusters })...).Counted().WithDetail("%s", listed(last.Calls)),
		}, Note: fmt.Sprintf("%d cores, shared with the API server; 60 ms per AWS call; load of the machine %s", runtime.NumCPU(), loadAverage())},
		{What: "1,000 HostedClusters and 2,000 NodePools at rest", Figures: []report.Figure{
			report.Within("share of a core", 1, "%", values(rests, func(r fleetAtRest) float64 { return 100 * r.share() })...).WithDetail("%s %% without a pass, %s ms per pass, %s passes per hour", report.Number(100*rest.Idle), report.Number(1000*rest.PerPass), report.Number(rest.passesPerHour())),
			report.Within("writes", 0, "", values(rests, func(r fleetAtRest) float64 { return float64(r.Written.N) })...).Counted().WithDetail("in %s minutes, of which %s with a resync that is %d times as fast: %s passes", report.Number((2 * restSpan).Minutes()), report.Number(restSpan.Minutes()), restFaster, report.Number(rest.Passes)),
			report.Info("CPU of a scrape", "ms", values(rests, func(r fleetAtRest) float64 { return 1000 * r.Scrape })...).WithDetail("%s samples", report.Number(rest.Samples)),
		}, Note: "share: scaled to the resync of production"},
	}
}

// legacy is the state that an operator leaves to its successor.
type legacy struct {
	Kubeconfig string
	// Private and Public are the signing key of the whole fleet: the generation of a thousand keys takes a minute, and is
	// measured elsewhere.
	Private, Public []byte
	// Sites are the OIDC documents in the bucket.
	Sites []oidcdocs.Site
}

func (l *legacy) generateKey() (private, public []byte, err error) { return l.Private, l.Public, nil }

// operator returns an operator with all controllers and a cloud with the resources of its predecessor. The caller starts
// it.
func (l *legacy) operator(ctx context.Context, w *writes, resync time.Duration) (*operator.Operator, *cloud, error) {
	cfg, err := restConfig(l.Kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	aws := newCloud()
	documents := oidcdocs.New(oidcdocs.NewClient(aws.mine.Config(region, observer)), bucket)
	for _, site := range l.Sites {
		if _, err := documents.Publish(ctx, site); err != nil {
			return nil, nil, err
		}
	}
	aws.SetLatency(latency)
	aws.ForgetCalls()
	ho, err := hypershiftOperator(ctx, cfg, aws, w, func(o *operator.Options, d *operator.Dependencies) {
		d.GenerateKey, o.ResyncPeriod = l.generateKey, resync
	})
	if err != nil {
		return nil, nil, err
	}
	// All controllers except the metrics: the progress of the controllers is read from the registry frequently, which
	// would then cost as much as a scrape.
	return ho, aws, ho.AddControllers(ctx)
}

// fleetTask makes an operator create the fleet.
func fleetTask(ctx context.Context, t *taskRun) error {
	var left legacy
	err := t.read(&left.Kubeconfig)
	if err != nil {
		return err
	}
	if left.Private, left.Public, err = webidentity.GenerateKey(); err != nil {
		return err
	}
	w := &writes{}
	ho, _, err := left.operator(ctx, w, resyncHO)
	if err != nil {
		return err
	}
	stop := start(ctx, ho)
	if err := w.silentFor(ctx, fleetSettled, fleetPatience); err != nil {
		return err
	}
	if err := actAsControlPlanes(ctx, ho.GetClient()); err != nil {
		return err
	}
	if err := w.silentFor(ctx, fleetSettled, fleetPatience); err != nil {
		return err
	}
	if err := errors.Join(allMade(ctx, ho.GetClient(), fleet()), machinesMade(ctx, ho.GetClient())); err != nil {
		return err
	}
	if left.Sites, err = sites(ctx, ho.GetClient(), left.Public); err != nil {
		return err
	}
	return errors.Join(stop(), t.leave(left))
}

// actAsControlPlanes writes the statuses for which the NodePools wait, as the control-plane-operators do, and reports the
// control planes as available: a control plane that does not start would cause status changes after two minutes.
func actAsControlPlanes(ctx context.Context, c client.Client) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"platform":{"aws":{"defaultWorkerSecurityGroupID":"sg-0123456789abcdef0"}}}}`))
	return each(ctx, fleet(), func(ctx context.Context, cl *cluster) error {
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
func machinesMade(ctx context.Context, c client.Client) error {
	var made clusterv1.MachineDeploymentList
	if err := c.List(ctx, &made); err != nil || len(made.Items) == fleetPools {
		return err
	}
	var pools hyperv1.NodePoolList
	if err := c.List(ctx, &pools); err != nil {
		return err
	}
	return fmt.Errorf("%d node pools have %d MachineDeployments; the first has the conditions %+v", len(pools.Items), len(made.Items), pools.Items[0].Status.Conditions)
}

// sites are the documents that the operator has published for the fleet.
func sites(ctx context.Context, c client.Client, publicKey []byte) ([]oidcdocs.Site, error) {
	jwks, err := webidentity.JWKS(publicKey)
	if err != nil {
		return nil, err
	}
	var list hyperv1.HostedClusterList
	if err := c.List(ctx, &list); err != nil {
		return nil, err
	}
	var all []oidcdocs.Site
	for _, hc := range list.Items {
		discovery, err := webidentity.Discovery(hc.Spec.IssuerURL, publicKey)
		if err != nil {
			return nil, err
		}
		all = append(all, oidcdocs.Site{Prefix: hc.Spec.InfraID, Owner: string(hc.UID), Documents: map[string][]byte{
			webidentity.DiscoveryPath: discovery, webidentity.JWKSPath: jwks,
		}})
	}
	return all, nil
}

// restartTask measures until the queues are empty.
func restartTask(ctx context.Context, t *taskRun) error {
	var left legacy
	if err := t.read(&left); err != nil {
		return err
	}
	w := &writes{}
	ho, aws, err := left.operator(ctx, w, resyncHO)
	if err != nil {
		return err
	}
	began, before := time.Now(), cpu()
	stop := start(ctx, ho)
	idle, err := untilIdle(ctx, activity{})
	if err != nil {
		return err
	}
	var c cost
	if err := c.spent(began, before); err != nil {
		return err
	}
	c.Seconds, c.Written, c.Calls = idle.Sub(began).Seconds(), w.soFar(), fakeaws.Count(aws.calls())
	return errors.Join(stop(), t.leave(c))
}

// fleetAtRest is the cost of an idle operator.
type fleetAtRest struct {
	restShare
	Passes  float64
	Written written
	Scrape  float64 // CPU seconds
	Samples float64
}

// The resync of the fleet is observed for a time in which it runs twice, restFaster times as fast as in production.
const (
	restSpan   = 2 * time.Minute
	restFaster = 30
)

// fleetAtRestTask observes the operator without a resync, and with many.
func fleetAtRestTask(ctx context.Context, t *taskRun) error {
	var left legacy
	if err := t.read(&left); err != nil {
		return err
	}
	var rest fleetAtRest
	idle, err := rest.watch(ctx, &left, resyncHO)
	if err != nil {
		return err
	}
	busy, err := rest.watch(ctx, &left, resyncHO/restFaster)
	if err != nil {
		return err
	}
	if rest.Passes < fleetClusters+fleetPools {
		return fmt.Errorf("only %.0f objects came by in %s", rest.Passes, restSpan)
	}
	rest.Idle = idle.Seconds() / restSpan.Seconds()
	rest.PerPass = (busy - idle).Seconds() / rest.Passes
	return t.leave(rest)
}

// passesPerHour is the number of reconciles per hour with the resync of production.
func (r *fleetAtRest) passesPerHour() float64 { return r.Passes / restSpan.Hours() / restFaster }

func (r *fleetAtRest) share() float64 { return r.Idle + r.PerPass*r.passesPerHour()/3600 }

// watch adds the cost of an operator in a time after its start to r, and returns its CPU time.
func (r *fleetAtRest) watch(ctx context.Context, left *legacy, resync time.Duration) (used time.Duration, err error) {
	w := &writes{}
	ho, _, err := left.operator(ctx, w, resync)
	if err != nil {
		return 0, err
	}
	before, err := controllers()
	if err != nil {
		return 0, err
	}
	stop := start(ctx, ho)
	if _, err := untilIdle(ctx, before); err != nil {
		return 0, err
	}
	first, err := controllers()
	if err != nil {
		return 0, err
	}
	settled, began := w.soFar(), cpu()
	select {
	case <-time.After(restSpan):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	used = cpu() - began
	last, err := controllers()
	if err != nil {
		return 0, err
	}
	r.Passes = last.passes - first.passes
	r.Written.N += w.soFar().N - settled.N
	return used, errors.Join(r.scrape(ctx, ho), stop())
}

// untilIdle returns when all controllers have reconciled since then and their queues stay empty.
func untilIdle(ctx context.Context, since activity) (at time.Time, err error) {
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
		if now.pending > 0 || now.passes-since.passes < fleetClusters+fleetPools || now.passes != last.passes {
			at, last = time.Now(), now
		}
		return time.Since(at) > lull, nil
	})
	return at, err
}

// scrape measures the cost of a Prometheus scrape.
func (r *fleetAtRest) scrape(ctx context.Context, ho *operator.Operator) error {
	if err := addClusterMetrics(ho); err != nil {
		return err
	}
	err := until(ctx, patience, func(context.Context) (_ bool, err error) {
		r.Samples, err = samples()
		return r.Samples > fleetClusters, err
	})
	if err != nil {
		return err
	}
	const often = 20
	before := cpu()
	for range often {
		if _, err := samples(); err != nil {
			return err
		}
	}
	r.Scrape = (cpu() - before).Seconds() / often
	return nil
}

// samples is the number of metric samples about clusters and pools.
func samples() (n float64, err error) {
	families, err := metrics.Registry.Gather()
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "hypershift_") {
			n += float64(len(f.GetMetric()))
		}
	}
	return n, err
}
