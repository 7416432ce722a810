package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/progress/screen"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	lab "github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// onLab is a section that measures real control planes, as pods of a lab that it starts. It needs root.
func onLab(measure func(context.Context, *labBench) ([]report.Row, error)) func(context.Context, string) ([]report.Row, error) {
	return onLabOf(3, measure)
}

// onLabOf is a section on a lab of so many machines, in three zones.
func onLabOf(machines int, measure func(context.Context, *labBench) ([]report.Row, error)) func(context.Context, string) ([]report.Row, error) {
	return func(ctx context.Context, _ string) (rows []report.Row, err error) {
		h, err := hosting.Start(ctx, hosting.Options{Lab: lab.Options{Machines: machines, New: true, InstantVolumes: true}, Progress: screen.New(screen.Options{Out: os.Stderr, Times: true})})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, h.Stop(context.WithoutCancel(ctx))) }()
		l, err := newLabBench(h)
		if err != nil {
			return nil, err
		}
		// The first cluster makes several machines pull the images.
		if _, err := l.live(ctx, 1, hyperv1.HighlyAvailable, 0); err != nil {
			return nil, err
		}
		l.warm = true
		return measure(ctx, l)
	}
}

// hostedControlPlaneLives measures creation and deletion of one control plane, and the floors with each.
func hostedControlPlaneLives(ctx context.Context, l *labBench) ([]report.Row, error) {
	single := &labLives{}
	for range 3 {
		one, err := l.live(ctx, 1, hyperv1.SingleReplica, 0)
		if err != nil {
			return nil, err
		}
		single.add(one)
		woken, err := l.wake(ctx)
		if err != nil {
			return nil, err
		}
		single.wake = append(single.wake, woken)
		manifests, err := l.liveManifests(ctx, 1)
		if err != nil {
			return nil, err
		}
		processes, err := bareStart(ctx)
		if err != nil {
			return nil, err
		}
		single.manifests, single.processes = append(single.manifests, manifests), append(single.processes, processes)
	}
	return hostedControlPlaneLivesRows(single), nil
}

func hostedControlPlaneLivesRows(single *labLives) []report.Row {
	return []report.Row{{
		What: "hosted control plane, 1 etcd and 1 API server, images there",
		Note: "through load balancer and router, three times; after each the floors, on the same machine",
		Figures: []report.Figure{
			report.Within("apply → /readyz for its user", 5, "s", single.ready...).Earlier("6.7 to 8.4 s").
				With(kamaji("12.3 s; 6.6 s with probes each second"), manifests("7.1 s"), eks("9 minutes")).
				WhatWasTried("all components are created at once (decision 0013), certificates do not wait for load balancers, startup probes run each second. " +
					"Known: kube-apiserver connects to etcd before its Service works, and then waits for the back-off of gRPC."),
			report.Info("floor: the same images as hand-written manifests, apply → /readyz", "s", single.manifests...),
			report.Info("floor: etcd and kube-apiserver as processes, start → /readyz", "s", single.processes...),
			report.Within("apply → /readyz, as a multiple of the hand-written manifests", 0.9, "", multiple(single.ready, single.manifests)...).
				WhatWasTried("as for the time."),
			report.Info("apply → completely rolled out", "s", single.rolledOut...).Earlier("10.4 to 12.3 s"),
			report.Within("writes of the operators to the management cluster until then", 60, "", single.writes...).Earlier("124").
				With(kamaji("63 to 71")).WithDetail("%s", single.last).
				WhatWasTried("statuses are written every two seconds if no program waits for them (decision 0065), and the certificates of one program share a Secret (decision 0075)."),
			report.Within("asleep → /readyz for its user", 30, "s", single.wake...).
				WhatWasTried("all components start at once, as in a new cluster (decision 0088)."),
			report.Within("deletion: until the last pod is gone", 4, "s", single.podsGone...).Earlier("3.5 s").With(kamaji("2 to 4 s, or 33 s")).
				WhatWasTried("pods are deleted without a grace period, all at once. kube-apiserver ends last."),
			report.Within("deletion: until everything is gone", 8, "s", single.gone...).Earlier("20 s").
				WhatWasTried("the operator is stopped, and the volume claim of etcd deleted, before its namespace is. Kubernetes waits for five seconds until it empties a namespace."),
		},
	}}
}

// hostedControlPlaneAtRest measures the resources of one idle control plane.
func hostedControlPlaneAtRest(ctx context.Context, l *labBench) ([]report.Row, error) {
	return atOnce(ctx, l, 1)
}

// hostedControlPlanesAtOnce measures the parallel creation of several, and then their resources.
func hostedControlPlanesAtOnce(ctx context.Context, l *labBench) ([]report.Row, error) {
	return atOnce(ctx, l, 5, 10)
}

func atOnce(ctx context.Context, l *labBench, numbers ...int) (rows []report.Row, err error) {
	for _, n := range numbers {
		measure, rounds := l.liveAtRest, 1
		if n == withFloor {
			measure, rounds = l.liveWithFloor, 3 // a ratio of two single starts means little
		}
		var lives []labLife
		for range rounds {
			life, err := measure(ctx, n)
			if err != nil {
				return rows, err
			}
			lives = append(lives, life)
		}
		rows = append(rows, atOnceRow(n, lives))
	}
	return rows, nil
}

func (b *labBench) liveAtRest(ctx context.Context, n int) (labLife, error) {
	return b.live(ctx, n, hyperv1.SingleReplica, time.Minute)
}

// liveWithFloor starts as many control planes of hand-written manifests afterwards.
func (b *labBench) liveWithFloor(ctx context.Context, n int) (life labLife, err error) {
	if life, err = b.liveAtRest(ctx, n); err != nil {
		return life, err
	}
	life.manifests, err = b.liveManifests(ctx, n)
	return life, err
}

// withFloor is the number of control planes that are compared with hand-written manifests.
const withFloor = 5

// multiple is the ratio of the medians, or empty if one of them was not measured.
func multiple(of, to []float64) []float64 {
	if len(of) == 0 || len(to) == 0 {
		return nil
	}
	return []float64{report.Info("", "", of...).Value() / report.Info("", "", to...).Value()}
}

// atOnceRows are the rows of these numbers of control planes, without measurements.
func atOnceRows(numbers ...int) (rows []report.Row) {
	for _, n := range numbers {
		rows = append(rows, atOnceRow(n, nil))
	}
	return rows
}

// startOfSeveral holds the measurements of the start of several control planes.
const startOfSeveral = "as for the start of one. Known: two cores are busy all the time, so a request to the management cluster takes 100 to 200 ms. Of 80 CPU seconds, the API " +
	"servers of five hosted clusters needed 24, that of the management cluster 15 for 2,800 requests, kubelets and containers 12, the control-plane-operators 6.5. A CPU profile of " +
	"the API server of the management cluster has no hot spot: 32 % are updates of objects, 14 % of all are managed fields, 14 % garbage collection, 3 % authentication."

func atOnceRow(n int, lives []labLife) report.Row {
	life := last(lives)
	ready, cpu := values(lives, func(l labLife) float64 { return l.ready }), values(lives, func(l labLife) float64 { return l.cpu })
	lastReady, spent := report.Info("last one ready", "s", ready...), report.Info("CPU of their pods until then", "s", cpu...)
	var floors []report.Figure
	if n == withFloor {
		manifested := values(lives, func(l labLife) float64 { return l.manifests })
		floors = []report.Figure{
			report.Info("floor: the same images as hand-written manifests, last one ready", "s", manifested...),
			report.Within("last one ready, as a multiple of the hand-written manifests", 1.25, "", multiple(ready, manifested)...).
				WhatWasTried(startOfSeveral),
		}
		lastReady = report.Within("last one ready", 18, "s", ready...).Earlier("24 s").With(kamaji("26 to 31 s"), manifests("20 to 22 s")).
			WhatWasTried(startOfSeveral)
		spent = report.Within("CPU of their pods until then", 45, "s", cpu...).With(kamaji("55 to 65 s"), manifests("46 s")).
			WhatWasTried("a cluster without node pools has no pods of Cluster API.")
	}
	var traffics []report.Figure
	note := "memory is anonymous, and with etcd and the control-plane-operator; one idle minute"
	if n == 1 {
		note += ". Requests are those of all clients of the management API server but the bench"
		traffics = []report.Figure{
			report.Within("requests to the management API server until it is rolled out", 250, "", values(lives, func(l labLife) float64 { return l.requests })...).Earlier("450").
				WhatWasTried("Secrets of users are read once for each version of them. Most requests are those of kubelets, of the controllers of Kubernetes, and of pods that start."),
			report.Within("watches at the management API server at rest", 20, "", values(lives, func(l labLife) float64 { return l.watches })...).Earlier("31").
				WhatWasTried("a kubelet watches each Secret and ConfigMap that a pod mounts; certificates of one program share a Secret (decision 0075)."),
			report.Within("Leases that are renewed", 1, "", values(lives, func(l labLife) float64 { return l.leases })...),
		}
	}
	return report.Row{
		What: count(n) + " at once",
		Note: note,
		Figures: append(append(append([]report.Figure{lastReady}, floors...), traffics...),
			spent,
			report.Within("memory of each at rest", 225, "MiB", values(lives, func(l labLife) float64 { return l.memory })...).Earlier("260 to 263 MiB").
				With(kamaji("267 to 277 MiB"), manifests("265 to 269 MiB")).WithDetail("%s", life.memoryByApp).
				WhatWasTried("GOGC is 25 for the API server, 50 for etcd, and 30 for kube-controller-manager; there is no kube-scheduler (decision 0095). The API server needs most."),
			report.Within("CPU of each at rest", 3, "% of a core", values(lives, func(l labLife) float64 { return l.idle })...).Earlier("3 %").
				With(kamaji("3.7 to 4.3 %"), manifests("3.8 %")).WithDetail("%s", life.idleByApp).
				WhatWasTried("after the start, probes run every 5 s for etcd and the API server, and every 10 s for kube-controller-manager, which runs fewer controllers (decision 0095)."),
			report.Info("hypershift-operator: memory", "MiB", values(lives, func(l labLife) float64 { return l.operator })...),
		),
	}
}

func count(n int) string {
	if n == 1 {
		return "1 hosted control plane"
	}
	return fmt.Sprintf("%d hosted control planes", n)
}
