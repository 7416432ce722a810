package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	lab "github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// onLab is a section that measures real control planes, as pods of a lab that it starts. It needs root.
func onLab(measure func(context.Context, *labBench) ([]Row, error)) func(context.Context, string) ([]Row, error) {
	return func(ctx context.Context, _ string) (rows []Row, err error) {
		h, err := hosting.Start(ctx, hosting.Options{Lab: lab.Options{Machines: 3, New: true}, Progress: os.Stderr})
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
		return measure(ctx, l)
	}
}

// hostedControlPlaneLives measures creation and deletion of one control plane.
func hostedControlPlaneLives(ctx context.Context, l *labBench) ([]Row, error) {
	single := &labLives{}
	for range 3 {
		one, err := l.live(ctx, 1, hyperv1.SingleReplica, 0)
		if err != nil {
			return nil, err
		}
		single.add(one)
	}
	return []Row{{
		What: "hosted control plane, 1 etcd and 1 API server, images there",
		Note: "through load balancer and router, three times",
		Figures: []Figure{
			within("apply → /readyz for its user", 6.5, "s", single.ready...),
			info("apply → completely rolled out", "s", single.rolledOut...),
			within("writes of the operators to the management cluster until then", 60, "", single.writes...).withDetail("%s", single.last),
			within("deletion: until the last pod is gone", 4, "s", single.podsGone...),
			info("deletion: until everything is gone", "s", single.gone...),
		},
	}}, nil
}

// hostedControlPlaneAtRest measures the resources of one idle control plane.
func hostedControlPlaneAtRest(ctx context.Context, l *labBench) ([]Row, error) {
	return atOnce(ctx, l, 1)
}

// hostedControlPlanesAtOnce measures the parallel creation of several, and then their resources.
func hostedControlPlanesAtOnce(ctx context.Context, l *labBench) ([]Row, error) {
	return atOnce(ctx, l, 5, 10)
}

func atOnce(ctx context.Context, l *labBench, numbers ...int) (rows []Row, err error) {
	for _, n := range numbers {
		life, err := l.live(ctx, n, hyperv1.SingleReplica, time.Minute)
		if err != nil {
			return rows, err
		}
		row := Row{What: fmt.Sprintf("%d hosted control planes at once", n), Note: "memory is anonymous, and with etcd and the control-plane-operator; one idle minute"}
		last, cpu := info("last one ready", "s", life.ready), info("CPU of their pods until then", "s", life.cpu)
		if n == 5 {
			last, cpu = within("last one ready", 20, "s", life.ready), within("CPU of their pods until then", 45, "s", life.cpu)
		}
		row.Figures = []Figure{
			last, cpu,
			within("memory of each at rest", 265, "MiB", life.memory).withDetail("%s", life.memoryByApp),
			within("CPU of each at rest", 3.5, "% of a core", life.idle).withDetail("%s", life.idleByApp),
			info("hypershift-operator: memory", "MiB", life.operator),
		}
		rows = append(rows, row)
	}
	return rows, nil
}
