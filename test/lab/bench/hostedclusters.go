package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

const clusters = 200

// made is the cost of creating many HostedClusters.
type made struct {
	Make  cost
	Touch cost
	// Replay is how long a client takes that makes the same writes and does nothing else, in seconds.
	Replay float64
	// SecretReads are the requests for single Secrets while everything is made.
	SecretReads int64
	// Keys is the CPU time of the signing keys, in seconds.
	Keys float64
	// Passes are the reconciles after a touch, for all clusters together.
	Passes float64
}

// making is the argument of the task that makes them.
type making struct {
	Kubeconfig string
	// Record is the file for the writes.
	Record string
}

// hostedClusters measures the hypershift-operator with all its controllers.
func hostedClusters(ctx context.Context, kubeconfig string) ([]report.Row, error) {
	m, err := makeAll(ctx, kubeconfig, true)
	if m.Make.Seconds == 0 {
		return nil, err
	}
	return hostedClustersRows([]made{m}), err
}

// withoutPools measures the same without node pools.
func withoutPools(ctx context.Context, kubeconfig string) ([]report.Row, error) {
	m, err := makeAll(ctx, kubeconfig, false)
	if m.Make.Seconds == 0 {
		return nil, err
	}
	return withoutPoolsRows([]made{m}), err
}

func makeAll(ctx context.Context, kubeconfig string, pools bool) (m made, err error) {
	admin, err := adminOf(kubeconfig)
	if err != nil {
		return m, err
	}
	if err := createUsers(ctx, admin, manyHostedClusters("h"), pools); err != nil {
		return m, err
	}
	dir, err := os.MkdirTemp("", "hypershift-bench-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	record := filepath.Join(dir, "writes")
	if err := do(ctx, "hosted-clusters", making{Kubeconfig: kubeconfig, Record: record}, &m); err != nil {
		return m, err
	}
	if err := createUsers(ctx, admin, manyHostedClusters("k"), pools); err != nil {
		return m, err
	}
	took, err := replay(ctx, kubeconfig, record)
	if err == nil {
		m.Replay = took.Seconds()
	}
	return m, err
}

// createUsers creates the objects of the users of the clusters.
func createUsers(ctx context.Context, admin client.Client, clusters []*cluster, pools bool) error {
	return each(ctx, clusters, func(ctx context.Context, cl *cluster) error {
		objects, err := cl.users()
		if err != nil {
			return err
		}
		if !pools {
			objects = slices.DeleteFunc(objects, func(o client.Object) bool { return o.GetObjectKind().GroupVersionKind().Kind == "NodePool" })
		}
		return create(ctx, admin, objects...)
	})
}

func withoutPoolsRows(all []made) []report.Row {
	return []report.Row{{
		What: "200 HostedClusters without node pools, operator start → everything made (60 ms per call)", Figures: []report.Figure{
			report.Within("time", 15, "s", values(all, func(m made) float64 { return m.Make.Seconds })...).With(openshiftStub("33 s")).WhatWasTried("as with node pools."),
			report.Within("time, as a multiple of a client that only makes the same writes", 1.6, "", values(replayed(all), timesReplay)...).WhatWasTried("as with node pools."),
			report.Info("CPU", "s", values(all, func(m made) float64 { return m.Make.CPU })...).With(openshiftStub("28 s")),
			report.Info("writes each", "", values(all, func(m made) float64 { return m.Make.writesFor(clusters) })...).Counted().With(openshiftStub("57")).WithDetail("%s", last(all).Make.waits(clusters)),
		}, Note: "load of the machine " + loadAverage(),
	}}
}

// replayed are those whose writes were made again.
func replayed(all []made) []made {
	return slices.DeleteFunc(slices.Clone(all), func(m made) bool { return m.Replay == 0 })
}

// timesReplay is the time as a multiple of the time of a client that makes the same writes.
func timesReplay(m made) float64 { return m.Make.Seconds / m.Replay }

func hostedClustersRows(all []made) []report.Row {
	m := last(all)
	pick := func(value func(made) float64) []float64 { return values(all, value) }
	return []report.Row{
		{What: "200 HostedClusters, operator start → everything made (60 ms per call)", Figures: []report.Figure{
			report.Within("time", 15, "s", pick(func(m made) float64 { return m.Make.Seconds })...).Earlier("38 to 45 s").With(openshiftStub("33 s")).
				WhatWasTried("signing keys are P-256. The operator waits for the API server, which shares the cores with it, and for its writes."),
			report.Info("floor: a client that only makes the same writes, 20 clusters at a time", "s", values(replayed(all), func(m made) float64 { return m.Replay })...),
			report.Within("time, as a multiple of that client", 1.6, "", values(replayed(all), timesReplay)...).
				WhatWasTried("statuses of a start are up to two seconds late, and AWS answers after 60 ms; the client waits for neither."),
			report.Within("CPU", 7, "s", pick(func(m made) float64 { return m.Make.CPU })...).Earlier("22 to 26 s, half of it for RSA keys").With(openshiftStub("28 s")).
				WhatWasTried("signing keys are P-256 instead of RSA, which was half of the time.").WithDetail("%s s of it for 200 signing keys", report.Number(m.Keys)),
			report.Within("writes each", 25, "", pick(func(m made) float64 { return m.Make.writesFor(clusters) })...).Counted().Earlier("36 to 38").With(openshiftStub("57")).
				WhatWasTried("status writes of a start are spaced by two seconds (decision 0065), and there are only objects that differ between clusters (decision 0080).").WithDetail("%s", m.Make.waits(clusters)),
			report.Within("requests for single Secrets each", 3, "", pick(func(m made) float64 { return float64(m.SecretReads) / clusters })...),
			report.Within("RSS, peak", 100, "MB", pick(func(m made) float64 { return m.Make.Memory.Peak })...).Earlier("124 to 128 MB").With(openshiftStub("174 to 191 MB")).
				WhatWasTried("the cache keeps equal parts of objects once, and GOGC is 50. Half of it are pages of the program.").WithDetail("%s", m.Make.Memory.file()),
			report.Within("anonymous", 60, "MB", pick(func(m made) float64 { return m.Make.Memory.Anonymous })...).With(openshiftStub("98 to 115 MB")).
				WhatWasTried("the cache keeps equal parts of objects once, and GOGC is 50."),
			report.Info("heap in use", "MB", pick(func(m made) float64 { return m.Make.Heap })...),
			report.Info("AWS calls each", "", pick(func(m made) float64 { return float64(total(m.Make.Calls)) / clusters })...).Counted().WithDetail("%s", listed(m.Make.Calls)),
		}, Note: "two node pools each; load of the machine " + loadAverage()},
		{What: "a HostedCluster touched without a change", Figures: []report.Figure{
			report.Within("CPU", 2, "ms", pick(func(m made) float64 { return 1000 * m.Touch.CPU / clusters })...).With(openshiftStub("18 ms")).
				WhatWasTried("nothing is written; a touch causes about three reconciles by all controllers, each of which compares all objects."),
			report.Within("writes", 0, "", pick(func(m made) float64 { return m.Touch.writesFor(clusters) })...).Counted().With(openshiftStub("2")),
			report.Info("AWS calls", "", pick(func(m made) float64 { return float64(total(m.Touch.Calls)) / clusters })...).Counted(),
			report.Info("passes of all controllers", "", pick(func(m made) float64 { return m.Passes / clusters })...),
		}, Note: "mean of 200 clusters that get an annotation"},
	}
}

// manyHostedClusters are clusters with a letter and a number as their name.
func manyHostedClusters(letter string) []*cluster {
	var all []*cluster
	for i := range clusters {
		all = append(all, newCluster(fmt.Sprintf("%s%03d", letter, i)))
	}
	return all
}

// hostedClustersTask starts the operator on new HostedClusters, and touches them after everything is created.
func hostedClustersTask(ctx context.Context, t *taskRun) error {
	var arg making
	if err := t.read(&arg); err != nil {
		return err
	}
	var m made
	cfg, err := restConfig(arg.Kubeconfig)
	if err != nil {
		return err
	}
	endRecord, err := record(cfg, arg.Record)
	if err != nil {
		return err
	}
	aws := newCloud()
	aws.SetLatency(latency)

	began, before := time.Now(), cpu()
	w, k, reads := &writes{}, &keys{}, &secretReads{}
	reads.count(cfg)
	ho, err := hypershiftOperator(ctx, cfg, aws, w, func(_ *operator.Options, d *operator.Dependencies) { d.GenerateKey = k.generate })
	if err != nil {
		return err
	}
	if err := errors.Join(ho.AddControllers(ctx), addClusterMetrics(ho)); err != nil {
		return err
	}
	stop := start(ctx, ho)
	if err := w.silence(ctx); err != nil {
		return err
	}
	if err := allMade(ctx, ho.GetClient(), manyHostedClusters("h")); err != nil {
		return err
	}
	if err := m.Make.spent(began, before); err != nil {
		return err
	}
	m.Make.Written, m.SecretReads = w.soFar(), reads.Load()
	m.Make.Seconds, m.Make.Calls = m.Make.Written.Last.Sub(began).Seconds(), fakeaws.Count(aws.calls())

	m.Keys = k.cpu.Seconds()
	if err := endRecord(); err != nil {
		return err
	}

	aws.ForgetCalls()
	touched, err := controllers()
	if err != nil {
		return err
	}
	before = cpu()
	if err := do(ctx, "touch", arg.Kubeconfig, &struct{}{}); err != nil {
		return err
	}
	if err := w.silence(ctx); err != nil {
		return err
	}
	m.Touch = cost{CPU: (cpu() - before).Seconds(), Written: written{N: w.soFar().N - m.Make.Written.N}, Calls: fakeaws.Count(aws.calls())}
	settled, err := controllers()
	if err != nil {
		return err
	}
	m.Passes = settled.passes - touched.passes
	return errors.Join(stop(), t.leave(m))
}

// keys generates signing keys like the operator and measures their cost.
type keys struct {
	mu  sync.Mutex
	cpu time.Duration
}

func (k *keys) generate() (private, public []byte, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := used(syscall.RUSAGE_THREAD)
	private, public, err = webidentity.GenerateKey()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cpu += used(syscall.RUSAGE_THREAD) - before
	return private, public, err
}

// allMade describes the missing objects after the writes have ended.
func allMade(ctx context.Context, c client.Client, clusters []*cluster) error {
	for _, cl := range clusters {
		for _, o := range []client.Object{
			&hyperv1.HostedControlPlane{}, &appsv1.Deployment{},
		} {
			key := client.ObjectKey{Namespace: cl.namespace(), Name: cl.name}
			if _, ok := o.(*appsv1.Deployment); ok {
				key.Name = names.ControlPlaneOperator
			}
			if err := c.Get(ctx, key, o); err != nil {
				hc := &hyperv1.HostedCluster{}
				return errors.Join(err, c.Get(ctx, client.ObjectKey{Namespace: cl.userNamespace(), Name: cl.name}, hc), fmt.Errorf("%+v", hc.Status.Conditions))
			}
		}
	}
	return nil
}

// touchTask makes changes without effect, from a process of its own: its cost is not part of the operator's.
func touchTask(ctx context.Context, t *taskRun) error {
	var kubeconfig string
	if err := t.read(&kubeconfig); err != nil {
		return err
	}
	admin, err := adminOf(kubeconfig)
	if err != nil {
		return err
	}
	var list hyperv1.HostedClusterList
	if err := admin.List(ctx, &list); err != nil {
		return err
	}
	touch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"bench.example.test/touched":"true"}}}`))
	err = each(ctx, list.Items, func(ctx context.Context, hc hyperv1.HostedCluster) error { return admin.Patch(ctx, &hc, touch) })
	if err != nil {
		return err
	}
	return t.leave(struct{}{})
}
