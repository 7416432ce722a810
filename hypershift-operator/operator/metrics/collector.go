package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
)

var policiesEnforced = describe("hypershift_network_policies_enforced", "1 if the management cluster enforces NetworkPolicies, 0 if a connection that they forbid was made. Absent while no control plane could be tried.")

// Options configure a Collector.
type Options struct {
	// Cache is only listed from. Its objects are not copied: there are thousands.
	Cache      client.Reader
	Clock      clock.PassiveClock
	Registerer prometheus.Registerer
	// InstanceTypes returns cached properties of an instance type; nil for an uncached type.
	InstanceTypes func(region, name string) *instancetypes.Type
	// PoliciesEnforced is whether the management cluster enforces NetworkPolicies;
	// nil for an installation that does not test it.
	PoliciesEnforced func() metav1.ConditionStatus
}

// A Collector is registered for as long as its operator leads; it is a Runnable
// of the manager.
type Collector struct {
	Options

	mu                    sync.Mutex // two may scrape at a time
	newClusters, newPools *transitions
}

// New returns a Collector that is not registered.
func New(opts Options) *Collector {
	return &Collector{Options: opts, newClusters: clusterTransitions(), newPools: poolTransitions()}
}

// Start registers the collector until ctx ends.
func (c *Collector) Start(ctx context.Context) error {
	w, err := c.read(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	c.newClusters.start(w.clusterSubjects())
	c.newPools.start(w.poolSubjects())
	if err := c.Registerer.Register(c); err != nil {
		return fmt.Errorf("registering the metrics of HostedClusters and NodePools: %w", err)
	}
	defer c.Registerer.Unregister(c)
	<-ctx.Done()
	return nil
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	out <- operatorInfo
	out <- policiesEnforced
	for _, g := range clusterGauges {
		out <- g.desc
	}
	for _, g := range poolGauges {
		out <- g.desc
	}
	for _, desc := range []*prometheus.Desc{clusters, clusterFailures, upgrading, clusterPools, vcpus, pools, poolFailures} {
		out <- desc
	}
	c.newClusters.durations.Describe(out)
	c.newPools.durations.Describe(out)
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// There is no context, and no wait: Start has filled the cache.
	w, err := c.read(context.Background())
	if err != nil {
		out <- prometheus.NewInvalidMetric(clusters, err)
		return
	}
	out <- prometheus.MustNewConstMetric(operatorInfo, prometheus.GaugeValue, 1, build()...)
	c.collectPolicies(out)
	w.collectClusters(out)
	w.collectPools(out)
	w.collectVCPUs(out, c.InstanceTypes)
	c.newClusters.observe(w.clusterSubjects())
	c.newPools.observe(w.poolSubjects())
	c.newClusters.durations.Collect(out)
	c.newPools.durations.Collect(out)
}

// collectPolicies exports no metric while it is unknown.
func (c *Collector) collectPolicies(out chan<- prometheus.Metric) {
	if c.PoliciesEnforced == nil {
		return
	}
	if status := c.PoliciesEnforced(); status != metav1.ConditionUnknown {
		out <- prometheus.MustNewConstMetric(policiesEnforced, prometheus.GaugeValue, flag(status == metav1.ConditionTrue))
	}
}

// world is everything at one time. Its objects belong to the cache.
type world struct {
	now      time.Time
	clusters []hyperv1.HostedCluster
	pools    []hyperv1.NodePool
	poolsOf  map[key][]*hyperv1.NodePool
}

func (c *Collector) read(ctx context.Context) (*world, error) {
	var clusters hyperv1.HostedClusterList
	if err := c.Cache.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing HostedClusters: %w", err)
	}
	var pools hyperv1.NodePoolList
	if err := c.Cache.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing NodePools: %w", err)
	}
	return &world{now: c.Clock.Now(), clusters: clusters.Items, pools: pools.Items, poolsOf: byCluster(pools.Items)}, nil
}

// A gauge is a number that each object of a kind may have.
type gauge[T any] struct {
	desc *prometheus.Desc
	// value is false where there is no sample.
	value func(obj T, now time.Time) (float64, bool)
}

func collect[T any](out chan<- prometheus.Metric, gauges []gauge[T], obj T, now time.Time, labels ...string) {
	for _, g := range gauges {
		if value, ok := g.value(obj, now); ok {
			out <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
		}
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func seconds(from, to time.Time) float64 { return max(0, to.Sub(from).Seconds()) }

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
