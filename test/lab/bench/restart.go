package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// restarts is how often the restart of an operator is measured.
const restarts = 3

// restart returns a section that measures the start of a hypershift-operator with an existing fleet.
func restart(f fleetGoal) section {
	return section{
		name: "restart with " + f.name(), on: anAPIServer, where: onAPIServer + " Each call of AWS takes 60 ms.",
		measure: func(ctx context.Context, kubeconfig string) ([]report.Row, error) {
			return measureRestart(ctx, f, kubeconfig)
		},
		rows: restartRows(f, nil, nil, nil),
	}
}

func measureRestart(ctx context.Context, f fleetGoal, kubeconfig string) ([]report.Row, error) {
	admin, err := adminOf(kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := f.create(ctx, admin); err != nil {
		return nil, err
	}
	left := legacy{Kubeconfig: kubeconfig, Fleet: f.fleet}
	if err := do(ctx, "fleet", left, &left); err != nil {
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
	var touched touchedPools
	if err := do(ctx, "touched-pools", left, &touched); err != nil {
		return nil, err
	}
	return restartRows(f, costs, []fleetAtRest{rest}, []touchedPools{touched}), nil
}

func restartRows(f fleetGoal, costs []cost, rests []fleetAtRest, touches []touchedPools) []report.Row {
	last, rest := last(costs), last(rests)
	return []report.Row{
		{What: f.String() + ", operator restart → every object reconciled", Figures: []report.Figure{
			report.Within("time", f.seconds, "s", values(costs, func(c cost) float64 { return c.Seconds })...).
				WhatWasTried("a reconcile without changes makes no write and, with the cache of AWS, few calls."),
			report.Info("CPU", "s", values(costs, func(c cost) float64 { return c.CPU })...),
			report.Within("RSS, peak", f.peak, "MB", values(costs, func(c cost) float64 { return c.Memory.Peak })...).
				WhatWasTried("the cache keeps equal parts of objects once, and GOGC is 50.").WithDetail("%s", last.Memory.file()),
			report.Info("anonymous", "MB", values(costs, func(c cost) float64 { return c.Memory.Anonymous })...),
			report.Info("heap in use", "MB", values(costs, func(c cost) float64 { return c.Heap })...),
			report.Within("heap in use, for each cluster", f.heap, "KB", values(costs, func(c cost) float64 { return 1024 * (c.Heap - c.Fake) / float64(f.Clusters) })...).WithDetail("all of the heap without the %s MB of the fake and its documents, divided by the clusters", report.Number(last.Fake)).
				WhatWasTried("the cache keeps equal parts of objects once."),
			report.Within("writes", 0, "", values(costs, func(c cost) float64 { return float64(c.Written.N) })...).Counted(),
			report.Info("AWS calls each", "", values(costs, func(c cost) float64 { return float64(total(c.Calls)) / float64(f.Clusters) })...).Counted().WithDetail("%s", listed(last.Calls)),
		}, Note: fmt.Sprintf("%d cores, shared with the API server; 60 ms per AWS call; load of the machine %s", runtime.NumCPU(), loadAverage())},
		{What: f.String() + " at rest", Figures: []report.Figure{
			report.Within("share of a core", 1, "%", values(rests, func(r fleetAtRest) float64 { return 100 * r.share() })...).WithDetail("%s %% without a pass, %s ms per pass, %s passes per hour", report.Number(100*rest.Idle), report.Number(1000*rest.PerPass), report.Number(rest.passesPerHour())).
				WhatWasTried("a pass without changes makes no write. The rest is the work of one pass for each object and resync."),
			report.Within("writes", 0, "", values(rests, func(r fleetAtRest) float64 { return float64(r.Written.N) })...).Counted().WithDetail("in %s minutes, of which %s with a resync that is %d times as fast: %s passes", report.Number((2 * restSpan).Minutes()), report.Number(restSpan.Minutes()), restFaster, report.Number(rest.Passes)),
			report.Info("CPU of a scrape", "ms", values(rests, func(r fleetAtRest) float64 { return 1000 * r.Scrape })...).WithDetail("%s samples", report.Number(rest.Samples)),
		}, Note: "share: scaled to the resync of production"},
		{What: "a NodePool of " + f.String() + " touched without a change", Figures: []report.Figure{
			report.Within("CPU", 2, "ms", values(touches, func(t touchedPools) float64 { return 1000 * t.CPU / touchedPoolsInAll })...).
				WhatWasTried("nothing is written, and one pass compares all objects of the pool with the cache. No single function takes more than 5 % of a reconcile, and a quarter is garbage collection."),
			report.Within("writes", 0, "", values(touches, func(t touchedPools) float64 { return float64(t.Writes) / touchedPoolsInAll })...).Counted(),
			report.Info("passes of all controllers", "", values(touches, func(t touchedPools) float64 { return t.Passes / touchedPoolsInAll })...),
		}, Note: fmt.Sprintf("mean of %d pools of different clusters that get an annotation", touchedPoolsInAll)},
	}
}

// legacy is the state that an operator leaves to its successor.
type legacy struct {
	Kubeconfig string
	Fleet      fleet
	// Private and Public are the signing key of the whole fleet: the generation of a thousand keys takes a minute, and is
	// measured elsewhere.
	Private, Public []byte
	// Sites are the OIDC documents in the bucket.
	Sites []publishedSite
}

// publishedSite has the parts of an oidcdocs.Site that another process can read.
type publishedSite struct {
	Prefix, Owner string
	Documents     map[string][]byte
}

func (l *legacy) generateKey() (private, public []byte, err error) { return l.Private, l.Public, nil }

// cloud returns a cloud with the resources of the predecessor.
func (l *legacy) cloud(ctx context.Context) (*cloud, error) {
	aws := newCloud()
	documents := oidcdocs.New(oidcdocs.NewClient(aws.mine.Config(region, observer)), bucket)
	for _, site := range l.Sites {
		if _, err := documents.Publish(ctx, oidcdocs.Site{Prefix: site.Prefix, Owner: site.Owner, Documents: site.Documents}); err != nil {
			return nil, err
		}
	}
	aws.ForgetCalls()
	return aws, nil
}

// operator returns an operator with all controllers and a cloud with the resources of its predecessor. The caller starts
// it.
func (l *legacy) operator(ctx context.Context, w *writes, resync time.Duration) (*operator.Operator, *cloud, error) {
	cfg, err := restConfig(l.Kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	aws, err := l.cloud(ctx)
	if err != nil {
		return nil, nil, err
	}
	aws.SetLatency(latency)
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
	err := t.read(&left)
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
	if err := left.Fleet.actAsControlPlanes(ctx, ho.GetClient()); err != nil {
		return err
	}
	if err := w.silentFor(ctx, fleetSettled, fleetPatience); err != nil {
		return err
	}
	if err := errors.Join(allMade(ctx, ho.GetClient(), left.Fleet.clusters()), left.Fleet.machinesMade(ctx, ho.GetClient())); err != nil {
		return err
	}
	if left.Sites, err = sites(ctx, ho.GetClient(), left.Public); err != nil {
		return err
	}
	return errors.Join(stop(), t.leave(left))
}

// sites are the documents that the operator has published for the fleet.
func sites(ctx context.Context, c client.Client, publicKey []byte) ([]publishedSite, error) {
	jwks, err := webidentity.JWKS(publicKey)
	if err != nil {
		return nil, err
	}
	var list hyperv1.HostedClusterList
	if err := c.List(ctx, &list); err != nil {
		return nil, err
	}
	var all []publishedSite
	for _, hc := range list.Items {
		discovery, err := webidentity.Discovery(hc.Spec.IssuerURL, publicKey)
		if err != nil {
			return nil, err
		}
		all = append(all, publishedSite{Prefix: hc.Spec.InfraID, Owner: string(hc.UID), Documents: map[string][]byte{
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
	var c cost
	without := heapInUse()
	like, err := left.cloud(ctx)
	if err != nil {
		return err
	}
	c.Fake = heapInUse() - without
	runtime.KeepAlive(like)

	w := &writes{}
	ho, aws, err := left.operator(ctx, w, resyncHO)
	if err != nil {
		return err
	}
	began, before := time.Now(), cpu()
	stop := start(ctx, ho)
	idle, err := left.Fleet.untilIdle(ctx, activity{})
	if err != nil {
		return err
	}
	c.Calls = fakeaws.Count(aws.calls())
	aws.ForgetCalls() // which the fake keeps in memory
	if err := c.spent(began, before); err != nil {
		return err
	}
	c.Seconds, c.Written = idle.Sub(began).Seconds(), w.soFar()
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
	if rest.Passes < left.Fleet.objects() {
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
	if _, err := left.Fleet.untilIdle(ctx, before); err != nil {
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
	return used, errors.Join(r.scrape(ctx, ho, left.Fleet.Clusters), stop())
}

// scrape measures the cost of a Prometheus scrape.
func (r *fleetAtRest) scrape(ctx context.Context, ho *operator.Operator, clusters int) error {
	if err := addClusterMetrics(ho); err != nil {
		return err
	}
	err := until(ctx, patience, func(context.Context) (_ bool, err error) {
		r.Samples, err = samples()
		return r.Samples > float64(clusters), err
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
