package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/bench/report"
	"github.com/hosted-control-planes/hypershift/test/lab/disruption"
)

var soakDuration = flag.Duration("duration", 2*time.Hour, "how long the section \"soak\" makes and deletes clusters")

const (
	// soakUsers is how many users make and delete clusters at the same time.
	soakUsers = 4
	// soakInterval is the time between two samples.
	soakInterval = 5 * time.Second
	// soakEnd is the namespace whose creation ends the measured process.
	soakEnd = "soak-end"
	// flat is the growth in percent that counts as none: medians of two quarters differ by chance.
	flat = 5
)

// soakBesideWork is what is known about the growth.
const soakBesideWork = "nothing yet. In the run of 2026-11-26 the machine did other work, not the same in both quarters, and the metrics of living clusters grew " +
	"most. A run on a quiet machine is missing."

// soakSample is the state of the operator at a time. Calls are those since the last sample.
type soakSample struct {
	At                                        time.Time
	Heap, Anonymous                           float64 // MB
	Goroutines, Watches, Series, Calls, Cycle float64
}

// soaked is what the measured process returns.
type soaked struct {
	Samples []soakSample
	// Left are resources in AWS that were not there at the start.
	Left []string
}

// soakResult is the result of the section.
type soakResult struct {
	soaked
	Hours  float64
	Cycles int
}

// soak makes and deletes clusters and pools without pause, while the operator runs in another process.
func soak(ctx context.Context, kubeconfig string) ([]report.Row, error) {
	private, public, err := webidentity.GenerateKey()
	if err != nil {
		return nil, err
	}
	admin, err := adminOf(kubeconfig)
	if err != nil {
		return nil, err
	}
	var r soakResult
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() {
		err := do(ctx, "soak", legacy{Kubeconfig: kubeconfig, Private: private, Public: public}, &r.soaked)
		ended <- err
		stop(errors.Join(errors.New("the operator has ended before the clusters"), err))
	}()
	// What the first cluster leaves, it leaves once: objects that all clusters share.
	if err := cycleOf(ctx, admin, newCluster("s00000")); err != nil {
		return nil, err
	}
	before, err := leftObjects(ctx, admin)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	ends, err := churn(ctx, admin, *soakDuration)
	if err != nil {
		return nil, err
	}
	r.Hours, r.Cycles = soakDuration.Hours(), len(ends)
	after, err := leftObjects(ctx, admin)
	if err != nil {
		return nil, err
	}
	if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: soakEnd}}); err != nil {
		return nil, fmt.Errorf("ending the operator: %w", err)
	}
	if err := <-ended; err != nil {
		return nil, err
	}
	for object := range after {
		if !before[object] {
			r.Left = append(r.Left, object)
		}
	}
	slices.Sort(r.Left)
	r.Samples = within(r.Samples, began, began.Add(*soakDuration))
	for i := range r.Samples {
		r.Samples[i].Cycle = endedSince(ends, r.Samples, i)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return soakRows([]soakResult{r}), nil
}

// check returns an error if the time was too short for a comparison.
func (r soakResult) check() error {
	for i, samples := range r.quarters() {
		ended := 0.0
		for _, s := range samples {
			ended += s.Cycle
		}
		if ended == 0 {
			return fmt.Errorf("no cluster was deleted in the %s quarter of %.1f minutes, so there is nothing to compare: set a longer -duration",
				[]string{"first", "last"}[i], 60*r.Hours)
		}
	}
	return nil
}

// within are the samples of a time.
func within(all []soakSample, from, to time.Time) []soakSample {
	return slices.DeleteFunc(all, func(s soakSample) bool { return s.At.Before(from) || s.At.After(to) })
}

// endedSince is the number of ends between the last sample and this one.
func endedSince(ends []time.Time, samples []soakSample, i int) (n float64) {
	for _, end := range ends {
		if !end.After(samples[i].At) && (i == 0 || end.After(samples[i-1].At)) {
			n++
		}
	}
	return n
}

// quarters are the samples of the first and of the last quarter.
func (r soakResult) quarters() [2][]soakSample {
	n := len(r.Samples) / 4
	return [2][]soakSample{r.Samples[:n], r.Samples[len(r.Samples)-n:]}
}

// medians are those of a value in the first and in the last quarter.
func (r soakResult) medians(value func(soakSample) float64) (first, last float64) {
	q := r.quarters()
	return median(values(q[0], value)), median(values(q[1], value))
}

// growth is the difference of the medians, in percent of the first one.
func (r soakResult) growth(value func(soakSample) float64) float64 {
	first, last := r.medians(value)
	if first == last {
		return 0 // also of nothing
	}
	return 100 * (last - first) / first
}

// callsPerCycle are the AWS calls for each cluster, in the first and in the last quarter.
func (r soakResult) callsPerCycle() (first, last float64) {
	sum := func(all []soakSample) float64 {
		calls, cycles := 0.0, 0.0
		for _, s := range all {
			calls, cycles = calls+s.Calls, cycles+s.Cycle
		}
		return calls / cycles
	}
	q := r.quarters()
	return sum(q[0]), sum(q[1])
}

func soakRows(all []soakResult) []report.Row {
	r := last(all)
	growth := func(name string, value func(soakSample) float64, unit string) report.Figure {
		f := report.Within("growth of "+name, flat, "%", values(all, func(r soakResult) float64 { return r.growth(value) })...).WhatWasTried(soakBesideWork)
		if len(all) > 0 {
			first, last := r.medians(value)
			f = f.WithDetail("from %s to %s%s", report.Number(first), report.Number(last), unit)
		}
		return f
	}
	calls := report.Within("growth of AWS calls for each cluster", flat, "%", values(all, func(r soakResult) float64 {
		first, last := r.callsPerCycle()
		return 100 * (last - first) / first
	})...).WhatWasTried(soakBesideWork)
	if len(all) > 0 {
		first, last := r.callsPerCycle()
		calls = calls.WithDetail("from %s to %s", report.Number(first), report.Number(last))
	}
	return []report.Row{{
		What: "clusters and pools are made and deleted without pause",
		Note: fmt.Sprintf("%d users at the same time; each makes a cluster with two pools, adds a pool, removes one, and deletes the cluster. The growth is that of the median from the "+
			"first to the last quarter", soakUsers),
		Figures: []report.Figure{
			report.Info("duration", "hours", values(all, func(r soakResult) float64 { return r.Hours })...),
			report.Info("clusters made and deleted", "", values(all, func(r soakResult) float64 { return float64(r.Cycles) })...),
			growth("the heap in use", func(s soakSample) float64 { return s.Heap }, " MB"),
			growth("anonymous memory", func(s soakSample) float64 { return s.Anonymous }, " MB"),
			growth("goroutines", func(s soakSample) float64 { return s.Goroutines }, ""),
			growth("watches of the API server", func(s soakSample) float64 { return s.Watches }, ""),
			growth("metrics about clusters and pools", func(s soakSample) float64 { return s.Series }, ""),
			calls,
			report.Within("leftovers", 0, "", values(all, func(r soakResult) float64 { return float64(len(r.Left)) })...).
				WithDetail("%s", strings.Join(r.Left[:min(len(r.Left), 20)], "; ")).WhatWasTried("nothing yet."),
		},
	}}
}

// churn makes and deletes clusters for that time, and returns when each was gone.
func churn(ctx context.Context, admin client.Client, span time.Duration) (ends []time.Time, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var mu sync.Mutex
	var running sync.WaitGroup
	end := time.Now().Add(span)
	for range soakUsers {
		running.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				name := fmt.Sprintf("s%05d", next.Add(1))
				if err := cycleOf(ctx, admin, newCluster(name)); err != nil {
					stop(fmt.Errorf("cluster %s: %w", name, err))
					return
				}
				mu.Lock()
				ends = append(ends, time.Now())
				if len(ends)%100 == 0 {
					fmt.Fprintf(os.Stderr, "soak: %d clusters made and deleted\n", len(ends))
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return ends, context.Cause(ctx)
}

// cycleOf is the life of one cluster: two pools, a third one, one less, nothing.
func cycleOf(ctx context.Context, admin client.Client, cl *cluster) error {
	objects, err := cl.users()
	if err != nil {
		return err
	}
	if err := create(ctx, admin, objects...); err != nil {
		return err
	}
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: cl.namespace(), Name: cl.name}}
	if err := disruption.WaitFor(ctx, "the HostedControlPlane exists", func(ctx context.Context) error {
		return admin.Get(ctx, client.ObjectKeyFromObject(hcp), hcp)
	}); err != nil {
		return err
	}
	// As the control-plane-operator does. The NodePools wait for it.
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"platform":{"aws":{"defaultWorkerSecurityGroupID":"sg-0123456789abcdef0"}}}}`))
	if err := admin.Status().Patch(ctx, hcp, patch); err != nil {
		return fmt.Errorf("writing the status of the HostedControlPlane: %w", err)
	}
	if err := machineDeployments(ctx, admin, cl, 2); err != nil {
		return err
	}
	third, err := cl.pool("c", cl.subnets[0])
	if err != nil {
		return err
	}
	if err := admin.Create(ctx, third); err != nil {
		return fmt.Errorf("creating a third pool: %w", err)
	}
	if err := machineDeployments(ctx, admin, cl, 3); err != nil {
		return err
	}
	if err := admin.Delete(ctx, third); err != nil {
		return fmt.Errorf("deleting the third pool: %w", err)
	}
	if err := machineDeployments(ctx, admin, cl, 2); err != nil {
		return err
	}
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: cl.userNamespace(), Name: cl.name}}
	users := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cl.userNamespace()}}
	for _, obj := range []client.Object{hc, users} {
		if err := admin.Delete(ctx, obj); err != nil {
			return fmt.Errorf("deleting %T: %w", obj, err)
		}
		if err := disruption.WaitFor(ctx, fmt.Sprintf("%T is gone", obj), func(ctx context.Context) error {
			err := admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			if err == nil {
				return errors.New(conditionsOf(obj))
			}
			return client.IgnoreNotFound(err)
		}); err != nil {
			return err
		}
	}
	err = admin.Get(ctx, client.ObjectKey{Name: cl.namespace()}, &corev1.Namespace{})
	if !apierrors.IsNotFound(err) {
		return errors.Join(err, errors.New("the namespace of the control plane still exists"))
	}
	return nil
}

// conditionsOf describes an object that should be gone.
func conditionsOf(obj client.Object) string {
	if hc, ok := obj.(*hyperv1.HostedCluster); ok {
		return fmt.Sprintf("its conditions are %+v", hc.Status.Conditions)
	}
	return "it still exists"
}

// machineDeployments waits until so many pools of a cluster have their machines' object.
func machineDeployments(ctx context.Context, admin client.Client, cl *cluster, want int) error {
	return disruption.WaitFor(ctx, fmt.Sprintf("%d pools have their MachineDeployment", want), func(ctx context.Context) error {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("MachineDeploymentList"))
		if err := admin.List(ctx, list, client.InNamespace(cl.namespace())); err != nil {
			return err
		}
		if len(list.Items) != want {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		return nil
	})
}

// leftKinds are the kinds of which nothing may be left.
var leftKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Namespace"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	hyperv1.GroupVersion.WithKind("HostedCluster"),
	hyperv1.GroupVersion.WithKind("HostedControlPlane"),
	hyperv1.GroupVersion.WithKind("NodePool"),
	clusterv1.GroupVersion.WithKind("Cluster"),
	clusterv1.GroupVersion.WithKind("MachineDeployment"),
}

// ofControllers are the names of objects, and of a namespace with objects, that controllers of Kubernetes make in existing namespaces at any time.
var ofControllers = []string{soakEnd, metav1.NamespaceSystem, "default", "kube-root-ca.crt"}

// leftObjects are all objects of these kinds.
func leftObjects(ctx context.Context, admin client.Client) (map[string]bool, error) {
	all := map[string]bool{}
	for _, kind := range leftKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := admin.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err)
		}
		for _, o := range list.Items {
			if !slices.Contains(ofControllers, o.Namespace) && !slices.Contains(ofControllers, o.Name) {
				all[kind.Kind+" "+o.Namespace+"/"+o.Name] = true
			}
		}
	}
	return all, nil
}

// soakTask runs the operator and samples its state, until the namespace soakEnd exists.
func soakTask(ctx context.Context, t *taskRun) error {
	var left legacy
	if err := t.read(&left); err != nil {
		return err
	}
	ho, aws, err := left.operator(ctx, &writes{}, resyncHO)
	if err != nil {
		return err
	}
	if err := addClusterMetrics(ho); err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(ho.GetConfig())
	if err != nil {
		return err
	}
	before := aws.Snapshot()
	var result soaked
	stop := start(ctx, ho)
	for {
		if err := pause(ctx, soakInterval); err != nil {
			return err
		}
		s := soakSample{At: time.Now(), Goroutines: float64(runtime.NumGoroutine()), Calls: float64(len(aws.calls()))}
		aws.ForgetCalls() // otherwise the record would grow
		text, err := kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err != nil {
			return fmt.Errorf("reading the metrics of the API server: %w", err)
		}
		if s.Watches, err = watches(string(text)); err != nil {
			return err
		}
		if s.Series, err = samples(); err != nil {
			return err
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.Heap = float64(m.HeapAlloc) / (1 << 20)
		memory, err := readMemory()
		if err != nil {
			return err
		}
		s.Anonymous = memory.Anonymous
		result.Samples = append(result.Samples, s)
		err = ho.GetAPIReader().Get(ctx, client.ObjectKey{Name: soakEnd}, &corev1.Namespace{})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			break
		}
	}
	result.Left = added(before, aws.Snapshot())
	return errors.Join(stop(), t.leave(result))
}

// watches is the number of open watches in the metrics of an API server.
func watches(text string) (sum float64, err error) {
	const metric = "apiserver_longrunning_requests{"
	found := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, metric) || !strings.Contains(line, `verb="WATCH"`) {
			continue
		}
		var n float64
		_, value, _ := strings.Cut(line, "} ")
		if _, err := fmt.Sscanf(value, "%g", &n); err != nil {
			return 0, fmt.Errorf("reading %q: %w", line, err)
		}
		sum, found = sum+n, true
	}
	if !found {
		return 0, errors.New("the metrics of the API server have no watches")
	}
	return sum, nil
}
