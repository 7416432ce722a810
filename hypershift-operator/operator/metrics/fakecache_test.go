package metrics_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/metrics"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
)

// noon is when every test begins.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// fakeCache is a cache that tests fill by hand, and a Prometheus that scrapes.
type fakeCache struct {
	*testing.T
	clusters []*hyperv1.HostedCluster
	pools    []*hyperv1.NodePool
	types    map[string]int64 // processors by instance type
	fails    error
	enforced metav1.ConditionStatus

	clock    *clocktesting.FakePassiveClock
	registry *prometheus.Registry
	started  chan struct{}
}

func newFakeCache(t *testing.T) *fakeCache {
	return &fakeCache{T: t, enforced: metav1.ConditionUnknown, clock: clocktesting.NewFakePassiveClock(noon), registry: prometheus.NewRegistry(), started: make(chan struct{})}
}

// List implements client.Reader as far as the collector may use it.
func (cache *fakeCache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(opts)
	if !ptr.Deref(asked.UnsafeDisableDeepCopy, false) {
		cache.Error("thousands of objects are copied for a scrape")
	}
	switch list := list.(type) {
	case *hyperv1.HostedClusterList:
		for _, hc := range cache.clusters {
			list.Items = append(list.Items, *hc)
		}
	case *hyperv1.NodePoolList:
		for _, np := range cache.pools {
			list.Items = append(list.Items, *np)
		}
	default:
		cache.Errorf("a scrape lists %T", list)
	}
	return cache.fails
}

func (cache *fakeCache) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	cache.Errorf("a scrape gets %s", key)
	return nil
}

// Register tells the test that the operator has begun to lead.
func (cache *fakeCache) Register(c prometheus.Collector) error {
	defer close(cache.started)
	return cache.registry.Register(c)
}

func (cache *fakeCache) MustRegister(...prometheus.Collector)   { cache.Error("a panic is risked") }
func (cache *fakeCache) Unregister(c prometheus.Collector) bool { return cache.registry.Unregister(c) }
func (cache *fakeCache) collector() *metrics.Collector {
	return metrics.New(metrics.Options{Cache: cache, Clock: cache.clock, Registerer: cache, InstanceTypes: cache.instanceType, PoliciesEnforced: func() metav1.ConditionStatus { return cache.enforced }})
}

func (cache *fakeCache) instanceType(region, name string) *instancetypes.Type {
	if n, known := cache.types[name]; known && region == "us-east-1" {
		return &instancetypes.Type{Name: name, VCPUs: n}
	}
	return nil
}

// lead starts an operator that leads until the test, or stop, ends it.
func (cache *fakeCache) lead() (stop func()) {
	ctx, cancel := context.WithCancel(cache.Context())
	ended := make(chan error, 1)
	go func() { ended <- cache.collector().Start(ctx) }()
	<-cache.started
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			cache.Error(err)
		}
		cache.started = make(chan struct{})
	}
	cache.Cleanup(stop)
	return stop
}

// samples returns a metric's samples of a scrape: values by labels, "a=x,b=y". A histogram counts observations and sums their durations.
func (cache *fakeCache) samples(metric string) map[string]any {
	cache.Helper()
	families, err := cache.registry.Gather()
	if err != nil {
		cache.Fatal(err)
	}
	found := map[string]any{}
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			var value any = m.GetGauge().GetValue()
			if h := m.GetHistogram(); h != nil {
				value = [2]float64{float64(h.GetSampleCount()), h.GetSampleSum()}
			}
			found[strings.Join(labels, ",")] = value
		}
	}
	return found
}

// expect compares all samples of a metric.
func (cache *fakeCache) expect(metric string, want map[string]any) {
	cache.Helper()
	if got := cache.samples(metric); !maps.Equal(got, want) {
		cache.Errorf("%s\n got %v\nwant %v", metric, got, want)
	}
}

// cluster returns a cluster that was created a quarter of an hour ago.
func cluster(name string, change ...func(*hyperv1.HostedCluster)) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, UID: types.UID(name), CreationTimestamp: ago(15 * time.Minute)}}
	hc.Spec.ClusterID = "id-of-" + name
	hc.Spec.Platform.Type = hyperv1.AWSPlatform
	hc.Spec.Platform.AWS = &hyperv1.AWSPlatformSpec{Region: "us-east-1"}
	for _, c := range change {
		c(hc)
	}
	return hc
}

func says(condition string, status metav1.ConditionStatus, since metav1.Time) func(*hyperv1.HostedCluster) {
	return func(hc *hyperv1.HostedCluster) {
		hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: condition, Status: status, LastTransitionTime: since})
	}
}

// released are the releases of a cluster, newest first.
func released(history ...configv1.UpdateHistory) func(*hyperv1.HostedCluster) {
	return func(hc *hyperv1.HostedCluster) { hc.Status.Version = &hyperv1.ClusterVersionStatus{History: history} }
}

func partial(version string, since metav1.Time) configv1.UpdateHistory {
	return configv1.UpdateHistory{State: configv1.PartialUpdate, Version: version, StartedTime: since}
}

func completed(version string) configv1.UpdateHistory {
	return configv1.UpdateHistory{State: configv1.CompletedUpdate, Version: version, StartedTime: ago(time.Hour), CompletionTime: ptr.To(ago(time.Minute))}
}

func deleted(since metav1.Time) func(*hyperv1.HostedCluster) {
	return func(hc *hyperv1.HostedCluster) { hc.DeletionTimestamp = &since }
}

func pool(name, ofCluster string, change ...func(*hyperv1.NodePool)) *hyperv1.NodePool {
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, UID: types.UID(name), CreationTimestamp: ago(10 * time.Minute)}}
	np.Spec.ClusterName = ofCluster
	np.Spec.Platform.Type = hyperv1.AWSPlatform
	np.Spec.Platform.AWS = &hyperv1.AWSNodePoolPlatform{InstanceType: "m6i.large"}
	for _, c := range change {
		c(np)
	}
	return np
}

func poolSays(condition string, status corev1.ConditionStatus, since metav1.Time) func(*hyperv1.NodePool) {
	return func(np *hyperv1.NodePool) {
		np.Status.Conditions = append(np.Status.Conditions, hyperv1.NodePoolCondition{Type: condition, Status: status, LastTransitionTime: since})
	}
}
