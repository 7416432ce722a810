package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

const (
	// callingClusters is the number of clusters in one account of a customer.
	callingClusters = 1000
	// callingTime is the observation time. It contains one check of the trust policies, which is due twice a day.
	callingTime = 12 * time.Hour
)

// fleetCalls measures the calls of all control-plane-operators of a fleet in the account of their customer.
func fleetCalls(ctx context.Context, _ string) ([]report.Row, error) {
	var seen quiet
	if err := do(ctx, "fleet-calls", callingClusters, &seen); err != nil {
		return nil, err
	}
	return fleetCallsRows([]quiet{seen}), nil
}

func fleetCallsRows(all []quiet) []report.Row {
	seen, hours := last(all), callingTime.Hours()
	return []report.Row{{
		What: "control-plane-operators of 1,000 clusters, at rest",
		Note: fmt.Sprintf("private clusters with 2 services, all in the same account; all programs start in the same second, as after an upgrade of the operator, and are observed "+
			"for %.0f virtual hours, from one hour later on. They share nothing: the sum is bounded by what one cluster calls, a comparison of everything each 30 to 36 minutes. The "+
			"random part of this interval spreads the calls", hours),
		Figures: []report.Figure{
			report.Info("AWS calls per hour and account", "", values(all, func(q quiet) float64 { return float64(q.total()) / hours })...).Counted().WithDetail("%s", perHour(seen.Calls, hours)),
			report.Info("calls per hour and cluster", "", values(all, func(q quiet) float64 { return float64(q.total()) / hours / callingClusters })...).Counted(),
			report.Info("in the worst minute", "", values(all, func(q quiet) float64 { return float64(q.WorstMinute) })...),
			report.Info("in the worst second", "", values(all, func(q quiet) float64 { return float64(q.WorstSecond) })...).WithDetail("there are calls in %d seconds of %.0f", seen.Seconds, callingTime.Seconds()),
			report.Within("writes", 0, "", values(all, func(q quiet) float64 { return float64(q.Writes) })...).Counted(),
		},
	}}
}

// fleetCallsTask observes the control-plane-operators of so many clusters.
func fleetCallsTask(_ context.Context, t *taskRun) error {
	var clusters int
	if err := t.read(&clusters); err != nil {
		return err
	}
	virtual(func(ctx context.Context) error {
		seen, err := observeFleet(ctx, clusters, settling, callingTime)
		if err != nil {
			return err
		}
		return t.leave(seen)
	})
	return nil
}

// observeFleet runs so many clusters, each with an API server and a process of its own, at the same time, and returns the calls in the
// account of the customer.
func observeFleet(ctx context.Context, clusters int, settling, span time.Duration) (quiet, error) {
	private, public, err := webidentity.GenerateKey()
	if err != nil {
		return quiet{}, err
	}
	converter, err := crdConverter()
	if err != nil {
		return quiet{}, err
	}
	aws := newCloud()
	aws.SetDelays(fakeaws.UsualDelays)
	var apis []*crashtest.Cluster
	var queues []*queue
	var fleet []privateCluster
	for i := range clusters {
		api := newFakeClusterOf(converter, 1000*i)
		p := privateCluster{name: fmt.Sprintf("c%04d", i), private: private, public: public}
		q, err := p.reconcile(ctx, api, aws)
		if err != nil {
			return quiet{}, err
		}
		apis, queues, fleet = append(apis, api), append(queues, q), append(fleet, p)
	}
	all := func(span time.Duration) error {
		var running sync.WaitGroup
		errs := make([]error, len(queues))
		for i, q := range queues {
			running.Go(func() { errs[i] = q.run(ctx, span) })
		}
		running.Wait()
		return errors.Join(errs...)
	}
	if err := all(settling); err != nil {
		return quiet{}, err
	}
	before := 0
	for _, api := range apis {
		before += api.Calls.Writes()
	}
	aws.ForgetCalls()
	began := time.Now()
	if err := all(span); err != nil {
		return quiet{}, err
	}
	seen := summarize(slices.DeleteFunc(aws.calls(), func(c fakeaws.Call) bool { return c.Account == provider }), began)
	for i, api := range apis {
		seen.Writes += api.Calls.Writes()
		if err := fleet[i].available(ctx, api.Admin()); err != nil {
			return quiet{}, err
		}
	}
	seen.Writes -= before
	return seen, nil
}
