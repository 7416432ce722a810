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
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	"github.com/hosted-control-planes/hypershift/test/lab/disruption"
)

var soakDuration = flag.Duration("duration", 2*time.Hour, "how long the section \"soak\" makes and deletes clusters")

const (
	// soakUsers is how many users make and delete clusters at the same time.
	soakUsers = 4
	// soakQuarters is how often they stop: growth without clusters is a leak.
	soakQuarters = 4
	// soakRest is how long they stop. The samples of its first soakSettling, in which caches see the last deletions, do not count.
	soakRest, soakSettling = time.Minute, 15 * time.Second
	// soakInterval is the time between two samples.
	soakInterval = 5 * time.Second
	// soakEnd is a namespace. Its creation ends the measured process.
	soakEnd = "soak-end"
	// flat is the growth in percent that counts as none: two medians differ by chance.
	flat = 5
)

// anonymousKept holds the growth of anonymous memory.
const anonymousKept = "the operator forgets what it knows of a deleted cluster, so that its heap in use does not grow. The growth gets smaller with each quarter. Probably it is " +
	"pages that the Go runtime has obtained and not returned."

// soakSample is the state of the operator at a time. Calls are those since the last sample.
type soakSample struct {
	At                                 time.Time
	Heap, Anonymous                    float64 // MB
	Goroutines, Watches, Series, Calls float64
}

// soaked is the result of the measured process.
type soaked struct {
	Samples []soakSample
	// Left are resources in AWS that were not there at the start.
	Left []string
}

// A soakQuarter is a time in which clusters are made and deleted, from Began to Rested, and a rest until Ended.
type soakQuarter struct {
	Began, Rested, Ended time.Time
	Cycles               int
}

// soakResult is the result of the section.
type soakResult struct {
	soaked
	Quarters []soakQuarter
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
	// The first cluster leaves objects once: objects that all clusters share.
	if err := cycleOf(ctx, admin, newCluster("s00000")); err != nil {
		return nil, err
	}
	before, err := leftObjects(ctx, admin)
	if err != nil {
		return nil, err
	}
	if r.Quarters, err = quarters(ctx, admin); err != nil {
		return nil, err
	}
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
	if err := r.check(); err != nil {
		return nil, err
	}
	return soakRows([]soakResult{r}), nil
}

// quarters makes and deletes clusters for soakDuration, and lets the operator rest after each quarter.
func quarters(ctx context.Context, admin client.Client) (all []soakQuarter, err error) {
	for i := range soakQuarters {
		q := soakQuarter{Began: time.Now()}
		if q.Cycles, err = churn(ctx, admin, i+1, *soakDuration/soakQuarters-soakRest); err != nil {
			return nil, err
		}
		q.Rested = time.Now()
		if err := pause(ctx, soakRest); err != nil {
			return nil, err
		}
		q.Ended = time.Now()
		all = append(all, q)
	}
	return all, nil
}

// check returns an error if there are no samples to compare.
func (r soakResult) check() error {
	for i, q := range r.Quarters {
		if len(r.rest(q)) == 0 {
			return fmt.Errorf("the operator left no sample in its rest after quarter %d", i+1)
		}
	}
	return nil
}

// within are the samples of a time.
func (r soakResult) within(from, to time.Time) (some []soakSample) {
	for _, s := range r.Samples {
		if !s.At.Before(from) && !s.At.After(to) {
			some = append(some, s)
		}
	}
	return some
}

// rest are the samples at rest, after the quarter.
func (r soakResult) rest(q soakQuarter) []soakSample {
	return r.within(q.Rested.Add(soakSettling), q.Ended)
}

// atRest is the median of a value at rest, after the quarter.
func (r soakResult) atRest(q soakQuarter, value func(soakSample) float64) float64 {
	return median(values(r.rest(q), value))
}

// callsOf are the AWS calls of the quarter for each of its clusters.
func (r soakResult) callsOf(q soakQuarter) (calls float64) {
	for _, s := range r.within(q.Began, q.Ended) {
		calls += s.Calls
	}
	return calls / float64(q.Cycles)
}

// peak is the highest anonymous memory, at rest or not, in MB.
func (r soakResult) peak() (most float64) {
	for _, s := range r.Samples {
		most = max(most, s.Anonymous)
	}
	return most
}

// hours is the time from the first cluster to the end of the last rest.
func (r soakResult) hours() float64 {
	return last(r.Quarters).Ended.Sub(r.Quarters[0].Began).Hours()
}

func (r soakResult) cycles() (n int) {
	for _, q := range r.Quarters {
		n += q.Cycles
	}
	return n
}

// growth is the difference of a value after the first and after the last quarter, in percent of the first one.
func (r soakResult) growth(of func(soakQuarter) float64) float64 {
	before, after := of(r.Quarters[0]), of(last(r.Quarters))
	switch {
	case before == after:
		return 0
	case before == 0:
		return 100 // anything is growth
	}
	return 100 * (after - before) / before
}

func soakRows(all []soakResult) []report.Row {
	growth := func(name, unit string, of func(soakResult, soakQuarter) float64) report.Figure {
		f := report.Within("growth of "+name, flat, "%", values(all, func(r soakResult) float64 {
			return r.growth(func(q soakQuarter) float64 { return of(r, q) })
		})...)
		if len(all) == 0 {
			return f
		}
		var each []string
		r := last(all)
		for _, q := range r.Quarters {
			each = append(each, report.Number(of(r, q))+unit)
		}
		return f.WithDetail("by quarter: %s", strings.Join(each, ", "))
	}
	rest := func(name, unit string, value func(soakSample) float64) report.Figure {
		return growth(name, unit, func(r soakResult, q soakQuarter) float64 { return r.atRest(q, value) })
	}
	left := last(all).Left
	return []report.Row{{
		What: "clusters and pools are made and deleted without pause",
		Note: fmt.Sprintf("%d users at the same time; each makes a cluster with two pools, adds a pool, removes one, and deletes the cluster. After each quarter of the time they stop, "+
			"and the operator rests for %.0f s; values are the medians of its rest. The growth is that from the first to the last quarter", soakUsers, soakRest.Seconds()),
		Figures: []report.Figure{
			report.Info("duration", "hours", values(all, soakResult.hours)...).HigherIsBetter(),
			report.Info("clusters made and deleted", "", values(all, func(r soakResult) float64 { return float64(r.cycles()) })...).HigherIsBetter(),
			rest("the heap in use", " MB", func(s soakSample) float64 { return s.Heap }),
			rest("anonymous memory", " MB", func(s soakSample) float64 { return s.Anonymous }).WhatWasTried(anonymousKept),
			report.Info("highest anonymous memory", "MB", values(all, soakResult.peak)...),
			rest("goroutines", "", func(s soakSample) float64 { return s.Goroutines }),
			rest("watches of the API server", "", func(s soakSample) float64 { return s.Watches }),
			rest("metrics about clusters and pools", "", func(s soakSample) float64 { return s.Series }),
			growth("AWS calls for each cluster", "", soakResult.callsOf),
			report.Within("leftovers", 0, "", values(all, func(r soakResult) float64 { return float64(len(r.Left)) })...).Counted().
				WithDetail("%s", strings.Join(left[:min(len(left), 20)], "; ")).WhatWasTried("nothing yet."),
		},
	}}
}

// churn makes and deletes clusters for that time, at least one for each user, and returns their number.
func churn(ctx context.Context, admin client.Client, quarter int, span time.Duration) (int, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var cycles atomic.Int64
	var running sync.WaitGroup
	end := time.Now().Add(span)
	for range soakUsers {
		running.Go(func() {
			for first := true; (first || time.Now().Before(end)) && ctx.Err() == nil; first = false {
				n := cycles.Add(1)
				name := fmt.Sprintf("s%d%05d", quarter, n)
				if err := cycleOf(ctx, admin, newCluster(name)); err != nil {
					stop(fmt.Errorf("cluster %s: %w", name, err))
					return
				}
				if n%100 == 0 {
					fmt.Fprintf(os.Stderr, "soak: %d clusters made and deleted in quarter %d\n", n, quarter)
				}
			}
		})
	}
	running.Wait()
	return int(cycles.Load()), context.Cause(ctx)
}

// cycleOf is the life of one cluster: two pools, a third one, one less, none.
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

// leftKinds are the kinds of which no object may be left.
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

// ofControllers are the names of objects, and of a namespace with objects, that controllers of Kubernetes make in existing namespaces
// at any time.
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
