package main

import (
	"context"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// highlyAvailableAtRest measures the resources of one idle control plane with three API servers and three members of etcd.
func highlyAvailableAtRest(ctx context.Context, l *labBench) ([]report.Row, error) {
	life, err := l.live(ctx, 1, hyperv1.HighlyAvailable, time.Minute)
	if err != nil {
		return nil, err
	}
	return highlyAvailableRows([]labLife{life}), nil
}

func highlyAvailableRows(lives []labLife) []report.Row {
	life := last(lives)
	return []report.Row{{
		What: "highly available hosted control plane at rest",
		Note: "memory is anonymous, and with etcd and the control-plane-operator; one idle minute",
		Figures: []report.Figure{
			report.Info("memory", "MiB", values(lives, func(l labLife) float64 { return l.memory })...).WithDetail("%s", life.memoryByApp),
			report.Info("CPU", "% of a core", values(lives, func(l labLife) float64 { return l.idle })...).WithDetail("%s", life.idleByApp),
		},
	}}
}
