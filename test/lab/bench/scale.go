package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// latency is the duration of an AWS call at scale.
const latency = 60 * time.Millisecond

// cost is the cost of an operation for the process.
type cost struct {
	Seconds, CPU float64
	Memory       memoryUsage
	Heap         float64 // MB, after a collection
	Fake         float64 // MB of it that are the fake's
	Calls        map[string]int
	Refused      int
	Written      written
}

func (c cost) writesFor(objects float64) float64 { return float64(c.Written.N) / objects }

// waits describes how long writes took per object.
func (c cost) waits(objects float64) string {
	return fmt.Sprintf("of them %s refused; waiting for the API server %s ms; %s", report.Number(float64(c.Written.Refused)/objects),
		report.Number(1000*c.Written.Waited.Seconds()/objects), counted(c.Written.ByKind, objects))
}

// counted lists counts for each of so many objects, the highest first.
func counted(counts map[string]int, objects float64) string {
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for i, kind := range kinds {
		kinds[i] = report.Number(float64(counts[kind])/objects) + " " + kind
	}
	return strings.Join(kinds, ", ")
}

// values returns one value of each measurement.
func values[T any](all []T, value func(T) float64) []float64 {
	var out []float64
	for _, one := range all {
		out = append(out, value(one))
	}
	return out
}

// last is the last measurement; empty without a measurement.
func last[T any](all []T) (one T) {
	if len(all) > 0 {
		one = all[len(all)-1]
	}
	return one
}

// spent sets c to the resources that the process has used since then.
func (c *cost) spent(began time.Time, cpuBefore time.Duration) (err error) {
	c.Seconds, c.CPU = time.Since(began).Seconds(), (cpu() - cpuBefore).Seconds()
	if c.Memory, err = readMemory(); err != nil {
		return err
	}
	c.Heap = heapInUse()
	return profileHeap()
}

// heapInUse is the heap in MB after a collection.
func heapInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// quietMemory is the memory of the process after it has returned all unused memory.
func quietMemory() (memoryUsage, error) {
	debug.FreeOSMemory()
	return readMemory()
}

// activity is the number of reconciles of all controllers of this process, and of queued items.
type activity struct{ passes, pending float64 }

func controllers() (activity, error) {
	var a activity
	families, err := metrics.Registry.Gather()
	if err != nil {
		return a, fmt.Errorf("counting passes: %w", err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "controller_runtime_reconcile_total":
				a.passes += m.GetCounter().GetValue()
			case "workqueue_depth", "controller_runtime_active_workers":
				a.pending += m.GetGauge().GetValue()
			}
		}
	}
	return a, nil
}

// each applies a function to many objects, several at a time.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	const workers = 16
	work, failed := make(chan T), make(chan error, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var errs []error
			for item := range work {
				errs = append(errs, do(ctx, item))
			}
			failed <- errors.Join(errs...)
		})
	}
	for _, item := range items {
		work <- item
	}
	close(work)
	wg.Wait()
	close(failed)
	var errs []error
	for err := range failed {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func adminOf(kubeconfig string) (client.Client, error) {
	cfg, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	return client.New(cfg, client.Options{Scheme: scheme})
}
