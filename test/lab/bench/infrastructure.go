package main

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

const (
	callTime = 100 * time.Millisecond
	// referenceCalls is how many calls the command line of OpenShift makes for infra and iam in three zones, one after the other.
	referenceCalls = 43 + 2*14 + 30
)

type infrastructureTime struct {
	Seconds, Calls, Chain float64
	Again                 float64 // calls of a second run
}

// infrastructure measures `create infra aws` and `create iam aws`, in one graph.
func infrastructure(ctx context.Context, _ string) ([]report.Row, error) {
	var all []infrastructureTime
	if err := do(ctx, "infrastructure", nil, &all); err != nil {
		return nil, err
	}
	return infrastructureRows(all), nil
}

func infrastructureRows(all []infrastructureTime) []report.Row {
	pick := func(value func(infrastructureTime) float64) []float64 { return values(all, value) }
	chain := last(all).Chain
	serial := float64(referenceCalls) * callTime.Seconds()
	return []report.Row{{What: "network, zones and roles of a cluster in three zones, 100 ms per AWS call", Figures: []report.Figure{
		report.Within("time, as a part of the same in a row, as the command line of OpenShift does it", 1.0/3, "",
			pick(func(i infrastructureTime) float64 { return i.Seconds / serial })...).WithDetail("%d calls, %.1f s", referenceCalls, serial),
		report.Within("time, as a multiple of the longest chain of dependencies", 1.3, "",
			pick(func(i infrastructureTime) float64 { return i.Seconds / (i.Chain * callTime.Seconds()) })...).WithDetail("%.0f calls, %.1f s", chain, chain*callTime.Seconds()).
			WhatWasTried("calls that do not depend on each other are made at once. The emulator handles one after the other, each in about 10 ms since it checks as AWS does."),
		report.Info("time", "s", pick(func(i infrastructureTime) float64 { return i.Seconds })...).With(openshiftCalls(fmt.Sprintf("%.1f s", serial))),
		report.Info("AWS calls", "", pick(func(i infrastructureTime) float64 { return i.Calls })...),
		report.Within("writing calls of a second run", 0, "", pick(func(i infrastructureTime) float64 { return i.Again })...).Counted(),
	}, Note: "AWS is the emulator, which handles one call after the other; it creates NAT gateways at once"}}
}

func infrastructureTask(ctx context.Context, t *taskRun) error {
	emulator, err := awsemulator.Start(ctx, awsemulator.Options{})
	if err != nil {
		return err
	}
	defer emulator.Stop()
	if err := emulator.SetDelays(ctx, awsemulator.Delays{"natGateway.create": 0, "route53.change": 0}); err != nil {
		return err
	}
	var all []infrastructureTime
	for range 4 {
		one, err := measureInfrastructure(ctx, emulator)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	return t.leave(all[1:]) // the first one opens connections
}

func measureInfrastructure(ctx context.Context, emulator *awsemulator.Emulator) (infrastructureTime, error) {
	account := emulator.NewAccount()
	cfg := emulator.Config(account)
	_, err := route53.NewFromConfig(cfg).CreateHostedZone(ctx, &route53.CreateHostedZoneInput{Name: aws.String("clusters.example.com"), CallerReference: aws.String(account)})
	if err != nil {
		return infrastructureTime{}, err
	}
	var calls, writes atomic.Int64
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		// Inside of the limit of parallel calls: a call that waits for others has not begun.
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("time",
			func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
				calls.Add(1)
				switch middleware.GetOperationName(ctx)[:3] {
				case "Des", "Get", "Lis":
				default:
					writes.Add(1)
				}
				// The call takes that time in all. The emulator handles one call after the other, and AWS does not.
				began := time.Now()
				out, metadata, err := next.HandleDeserialize(ctx, in)
				time.Sleep(callTime - time.Since(began))
				return out, metadata, err
			}), middleware.Before)
	})
	cfg = awsgraph.Limited(cfg)
	network := infra.Spec{
		InfraID: "bench", Name: "bench", Region: cfg.Region, BaseDomain: "clusters.example.com", VPCCIDR: netip.MustParsePrefix("10.0.0.0/16"),
		Zones: []string{"us-east-1a", "us-east-1b", "us-east-1c"},
	}
	state, err := resourcegraph.NewState(nil, func([]byte) error { return nil })
	if err != nil {
		return infrastructureTime{}, err
	}
	apply := func() (*resourcegraph.Graph, error) {
		cloud := infra.NewCloud(cfg, network.Owner())
		var caller awsgraph.Caller
		group, groupCtx := errgroup.WithContext(ctx)
		group.Go(func() (err error) {
			caller, err = awsgraph.CallerOf(groupCtx, cfg)
			return err
		})
		group.Go(func() error {
			_, err := cloud.ResolveZones(groupCtx, network.Zones)
			return err
		})
		if err := group.Wait(); err != nil {
			return nil, err
		}
		roles := clusteriam.Spec{
			InfraID: network.InfraID, Region: cfg.Region, Partition: caller.Partition, Account: caller.Account,
			IssuerURL: clusteriam.S3Issuer("documents", cfg.Region, network.InfraID),
			Inputs: clusteriam.Inputs{
				VPC: clusteriam.Input{Node: infra.VPC}, PublicZone: clusteriam.Input{Node: infra.PublicZone},
				PrivateZone: clusteriam.Input{Node: infra.PrivateZone}, LocalZone: clusteriam.Input{Node: infra.LocalZone},
			},
		}
		graph, err := resourcegraph.New(append(cloud.Nodes(network), clusteriam.NewCloud(cfg, roles.Owner()).Nodes(roles)...)...)
		if err != nil {
			return nil, err
		}
		graph.Prefetch(cloud.Prefetch()...)
		engine := resourcegraph.NewEngine(graph, state, resourcegraph.Options{Classify: awsgraph.Classify, ConsistencyWindow: awsx.ConsistencyWindow})
		plan, err := engine.Plan(ctx)
		if err != nil {
			return nil, err
		}
		return graph, engine.Apply(ctx, plan)
	}
	began := time.Now()
	graph, err := apply()
	if err != nil {
		return infrastructureTime{}, fmt.Errorf("creating the infrastructure: %w", err)
	}
	result := infrastructureTime{Seconds: time.Since(began).Seconds(), Calls: float64(calls.Load()), Chain: 2 + longestChain(graph)}
	writes.Store(0)
	if _, err := apply(); err != nil {
		return infrastructureTime{}, fmt.Errorf("the second run: %w", err)
	}
	result.Again = float64(writes.Load())
	return result, nil
}

// longestChain is the largest number of calls in a row that create the graph. Two calls before it list existing resources: caller and
// zones, and everything else.
func longestChain(graph *resourcegraph.Graph) float64 {
	chain := map[string]float64{}
	longest := 0.0
	for _, n := range graph.Nodes() {
		own := 1.0
		switch {
		case n.Create == nil:
			own = 0
		case n.ID == "main-table", n.Kind == "SOA record": // they read before they write
			own = 2
		}
		before := 0.0
		for _, d := range n.DependsOn {
			before = max(before, chain[d])
		}
		chain[n.ID] = before + own
		if n.Kind == "NAT gateway" { // its state is read
			own++
		}
		longest = max(longest, before+own)
	}
	return longest
}
