package metrics_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// The metrics of one HostedCluster each.
const (
	up        = "hypershift_cluster_available"
	since     = "hypershift_cluster_available_change_timestamp_seconds"
	waiting   = "hypershift_cluster_waiting_initial_availability_duration_seconds"
	rolling   = "hypershift_cluster_initial_rolling_out_duration_seconds"
	upgrading = "hypershift_cluster_upgrading_duration_seconds"
	deleting  = "hypershift_cluster_deleting_duration_seconds"
	cleaning  = "hypershift_cluster_guest_cloud_resources_deleting_duration_seconds"
	proxied   = "hypershift_cluster_proxy"
	proxyCA   = "hypershift_cluster_proxy_ca_valid"
	creds     = "hypershift_cluster_invalid_aws_creds"
)

func TestACluster(t *testing.T) {
	const quarter = 15 * 60.0
	minuteAgo := float64(noon.Add(-time.Minute).Unix())
	available := says(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, ago(time.Minute))
	notAvailable := says(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, ago(time.Minute))
	goesThroughProxy := func(trustedCA string) func(*hyperv1.HostedCluster) {
		return func(hc *hyperv1.HostedCluster) {
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPSProxy: "http://proxy.example.test:3128"}}
			hc.Spec.Configuration.Proxy.TrustedCA.Name = trustedCA
		}
	}
	onNone := func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.Type = hyperv1.NonePlatform }
	cleaningUp := func(reason string) func(*hyperv1.HostedCluster) {
		return func(hc *hyperv1.HostedCluster) {
			hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: hyperv1.CloudResourcesDestroyed, Status: metav1.ConditionFalse, Reason: reason})
		}
	}
	for name, tc := range map[string]struct {
		hc   *hyperv1.HostedCluster
		want map[string]any // by metric; nil for an absent metric
	}{
		"one that nobody has looked at waits for everything, and its credentials are unknown": {
			hc:   cluster("demo"),
			want: map[string]any{up: 0.0, since: nil, waiting: quarter, rolling: quarter, upgrading: nil, deleting: nil, cleaning: nil, proxied: 0.0, proxyCA: nil, creds: 2.0},
		},
		"one that sleeps": {hc: cluster("demo", sleeps), want: map[string]any{up: 0.0, asleepMetric: 1.0}},
		"one that is available has not rolled everything out yet": {
			hc:   cluster("demo", available, released(partial("1.36.3", ago(time.Minute)))),
			want: map[string]any{up: 1.0, asleepMetric: nil, since: minuteAgo, waiting: nil, rolling: quarter, upgrading: nil},
		},
		"one whose release has been rolled out is new no more, also when it is not available": {
			hc:   cluster("demo", notAvailable, released(completed("1.36.3"))),
			want: map[string]any{up: 0.0, since: minuteAgo, waiting: nil, rolling: nil, upgrading: nil},
		},
		"one on its way to another release is upgrading since it set out": {
			hc:   cluster("demo", available, released(partial("1.36.3", ago(7*time.Minute)), completed("1.35.4"))),
			want: map[string]any{waiting: nil, rolling: nil, upgrading: 420.0},
		},
		"one that is deleted before it was ever available waits for nothing but that": {
			hc:   cluster("demo", notAvailable, deleted(ago(2*time.Minute))),
			want: map[string]any{waiting: nil, rolling: nil, deleting: 120.0, cleaning: nil},
		},
		"one that still has something in the cloud": {
			hc:   cluster("demo", deleted(ago(2*time.Minute)), cleaningUp(hyperv1.CloudResourcesRemainingReason)),
			want: map[string]any{deleting: 120.0, cleaning: 120.0},
		},
		"one that leaves behind what it has in the cloud does not wait for it any more": {
			hc:   cluster("demo", deleted(ago(2*time.Minute)), cleaningUp(hyperv1.CloudResourcesCleanupSkippedReason)),
			want: map[string]any{deleting: 120.0, cleaning: nil},
		},
		"one behind a proxy": {
			hc:   cluster("demo", goesThroughProxy("")),
			want: map[string]any{proxied: 1.0, proxyCA: nil},
		},
		"one behind a proxy with certificates that nobody has looked at": {
			hc:   cluster("demo", goesThroughProxy("proxy-ca")),
			want: map[string]any{proxied: 1.0, proxyCA: nil},
		},
		"one behind a proxy with good certificates": {
			hc:   cluster("demo", goesThroughProxy("proxy-ca"), says(hyperv1.ValidProxyConfiguration, metav1.ConditionTrue, ago(0))),
			want: map[string]any{proxied: 1.0, proxyCA: 1.0},
		},
		"one behind a proxy with bad certificates": {
			hc:   cluster("demo", goesThroughProxy("proxy-ca"), says(hyperv1.ValidProxyConfiguration, metav1.ConditionFalse, ago(0))),
			want: map[string]any{proxied: 1.0, proxyCA: 0.0},
		},
		"one that AWS knows": {
			hc:   cluster("demo", says(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, ago(0))),
			want: map[string]any{creds: 0.0},
		},
		"one that AWS does not know": {
			hc:   cluster("demo", says(hyperv1.ValidAWSIdentityProvider, metav1.ConditionFalse, ago(0))),
			want: map[string]any{creds: 1.0},
		},
		"one that AWS could not be asked about": {
			hc:   cluster("demo", says(hyperv1.ValidAWSIdentityProvider, metav1.ConditionUnknown, ago(0))),
			want: map[string]any{creds: 2.0},
		},
		"one that is not on AWS": {
			hc:   cluster("demo", onNone),
			want: map[string]any{creds: nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache := newFakeCache(t)
			cache.clusters = append(cache.clusters, tc.hc)
			cache.lead()
			for metric, value := range tc.want {
				labels := "_id=id-of-demo,name=demo,namespace=clusters"
				if metric == upgrading {
					labels += ",new_version=1.36.3,previous_version=1.35.4"
				}
				want := map[string]any{labels: value}
				if value == nil {
					want = nil
				}
				cache.expect(metric, want)
			}
		})
	}
}

func TestAPool(t *testing.T) {
	const (
		size      = "hypershift_nodepools_size"
		available = "hypershift_nodepools_available_replicas"
		rolling   = "hypershift_nodepools_initial_rolling_out_duration_seconds"
		deleting  = "hypershift_nodepools_deleting_duration_seconds"
	)
	asks := func(n int32) func(*hyperv1.NodePool) {
		return func(np *hyperv1.NodePool) { np.Spec.Replicas = &n }
	}
	for name, tc := range map[string]struct {
		np   *hyperv1.NodePool
		want map[string]any
	}{
		"one that is new": {
			np:   pool("workers", "demo", asks(3)),
			want: map[string]any{size: 3.0, available: 0.0, rolling: 600.0, deleting: nil},
		},
		"one that asks for nothing": {
			np:   pool("workers", "demo"),
			want: map[string]any{size: 0.0, available: 0.0},
		},
		"one that scales itself": {
			np:   pool("workers", "demo", func(np *hyperv1.NodePool) { np.Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Max: 5} }),
			want: map[string]any{size: nil, available: 0.0},
		},
		"one that has lost a node": {
			np: pool("workers", "demo", asks(3), func(np *hyperv1.NodePool) {
				np.Status.Replicas, np.Status.Version = 2, "1.36.3"
			}),
			want: map[string]any{size: 3.0, available: 2.0, rolling: nil, deleting: nil},
		},
		"one that goes": {
			np:   pool("workers", "demo", asks(3), func(np *hyperv1.NodePool) { np.DeletionTimestamp = ptr.To(ago(90 * time.Second)) }),
			want: map[string]any{size: 3.0, rolling: nil, deleting: 90.0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache := newFakeCache(t)
			cache.clusters = append(cache.clusters, cluster("demo"))
			cache.pools = append(cache.pools, tc.np)
			cache.lead()
			for metric, value := range tc.want {
				want := map[string]any{"_id=id-of-demo,cluster_name=demo,name=workers,namespace=clusters,platform=AWS": value}
				if value == nil {
					want = nil
				}
				cache.expect(metric, want)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	cache := newFakeCache(t)
	cache.lead()
	cache.expect("hypershift_hostedclusters", map[string]any{"platform=AWS": 0.0})
	cache.expect("hypershift_nodepools", map[string]any{"platform=AWS": 0.0})

	cache.clusters = append(cache.clusters, cluster("one"), cluster("two"), cluster("other", func(hc *hyperv1.HostedCluster) { hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform} }))
	cache.pools = append(cache.pools, pool("a", "one"), pool("b", "one"), pool("c", "nobody"))
	cache.expect("hypershift_hostedclusters", map[string]any{"platform=AWS": 2.0, "platform=None": 1.0})
	cache.expect("hypershift_nodepools", map[string]any{"platform=AWS": 3.0})
	cache.expect("hypershift_hostedcluster_nodepools", map[string]any{
		"_id=id-of-one,name=one,namespace=clusters,platform=AWS":      2.0,
		"_id=id-of-two,name=two,namespace=clusters,platform=AWS":      0.0,
		"_id=id-of-other,name=other,namespace=clusters,platform=None": 0.0,
	})
}

func TestProcessors(t *testing.T) {
	const metric, demo = "hypershift_cluster_vcpus", "_id=id-of-demo,name=demo,namespace=clusters"
	of := func(instanceType string, nodes int32) func(*hyperv1.NodePool) {
		return func(np *hyperv1.NodePool) {
			np.Spec.Platform.AWS.InstanceType, np.Status.Replicas = instanceType, nodes
		}
	}
	for name, tc := range map[string]struct {
		pools []*hyperv1.NodePool
		want  map[string]any
	}{
		"without pools there are none":                   {nil, map[string]any{demo: 0.0}},
		"those of all pools are added":                   {[]*hyperv1.NodePool{pool("a", "demo", of("m6i.large", 3)), pool("b", "demo", of("m6i.xlarge", 2))}, map[string]any{demo: 14.0}},
		"a type that nobody knows makes the sum unknown": {[]*hyperv1.NodePool{pool("a", "demo", of("m6i.large", 3)), pool("b", "demo", of("x9.huge", 1))}, nil},
		"unless there is no node of it":                  {[]*hyperv1.NodePool{pool("a", "demo", of("m6i.large", 3)), pool("b", "demo", of("x9.huge", 0))}, map[string]any{demo: 6.0}},
		"a pool without a platform makes it unknown": {[]*hyperv1.NodePool{pool("a", "demo", func(np *hyperv1.NodePool) {
			np.Spec.Platform.AWS, np.Status.Replicas = nil, 1
		})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cache := newFakeCache(t)
			cache.types = map[string]int64{"m6i.large": 2, "m6i.xlarge": 4}
			cache.clusters, cache.pools = append(cache.clusters, cluster("demo")), tc.pools
			cache.lead()
			cache.expect(metric, tc.want)
		})
	}
}

const asleepMetric = "hypershift_cluster_asleep"

// sleeps is the state of a cluster that sleeps.
func sleeps(hc *hyperv1.HostedCluster) {
	hc.Status.Conditions = []metav1.Condition{
		{Type: hyperv1.HostedClusterAsleep, Status: metav1.ConditionTrue, Reason: hyperv1.AsleepReason},
		{Type: hyperv1.HostedClusterAvailable, Status: metav1.ConditionFalse, Reason: hyperv1.AsleepReason},
		{Type: hyperv1.EtcdAvailable, Status: metav1.ConditionFalse, Reason: hyperv1.AsleepReason},
	}
}

func TestWhatIsWrongIsCounted(t *testing.T) {
	cache := newFakeCache(t)
	cache.clusters = append(cache.clusters,
		cluster("well", says(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, ago(0)), says(hyperv1.HostedClusterDegraded, metav1.ConditionFalse, ago(0))),
		cluster("down", says(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, ago(0)), says(hyperv1.HostedClusterDegraded, metav1.ConditionTrue, ago(0))),
		cluster("asleep", sleeps),
		cluster("dark", says(hyperv1.HostedClusterAvailable, metav1.ConditionUnknown, ago(0)), says(hyperv1.HostedClusterDegraded, metav1.ConditionUnknown, ago(0))),
	)
	cache.pools = append(cache.pools,
		pool("small", "well", poolSays(hyperv1.NodePoolReadyCondition, corev1.ConditionFalse, ago(0)), poolSays(hyperv1.NodePoolUpdatingVersionCondition, corev1.ConditionTrue, ago(0))),
		pool("asleep", "asleep", func(np *hyperv1.NodePool) {
			np.Status.Conditions = []hyperv1.NodePoolCondition{{Type: hyperv1.NodePoolReadyCondition, Status: corev1.ConditionFalse, Reason: hyperv1.AsleepReason}}
		}),
		pool("fixed", "well", poolSays(hyperv1.NodePoolAutoscalingEnabledCondition, corev1.ConditionFalse, ago(0))),
	)
	cache.lead()
	clusters := cache.samples("hypershift_hostedclusters_failure_conditions")
	pools := cache.samples("hypershift_nodepools_failure_conditions")
	for _, tc := range []struct {
		name   string
		found  map[string]any
		labels string
		want   any
	}{
		{"a cluster is not available", clusters, "condition=not_Available,platform=AWS", 1.0},
		{"a cluster is degraded", clusters, "condition=Degraded,platform=AWS", 1.0},
		{"what no cluster complains of is 0", clusters, "condition=not_EtcdAvailable,platform=AWS", 0.0},
		{"a pool is not ready", pools, "condition=not_Ready,platform=AWS", 1.0},
		{"a pool is being updated", pools, "condition=UpdatingVersion,platform=AWS", 1.0},
		{"that a pool does not scale itself is no failure", pools, "condition=not_AutoscalingEnabled,platform=AWS", nil},
	} {
		if got := tc.found[tc.labels]; got != tc.want {
			t.Errorf("%s: %s is %v, not %v", tc.name, tc.labels, got, tc.want)
		}
	}
}

func TestTransitions(t *testing.T) {
	const metric = "hypershift_hosted_cluster_transition_seconds"
	cache := newFakeCache(t)
	// States from before the operator begins to lead are not measured: the former leader has measured them.
	cache.clusters = append(cache.clusters,
		cluster("old", released(completed("1.36.3")), says(hyperv1.EtcdAvailable, metav1.ConditionFalse, ago(time.Second))),
		cluster("begun", says(hyperv1.InfrastructureReady, metav1.ConditionTrue, ago(10*time.Minute))),
	)
	cache.lead()
	cache.expect(metric, nil)

	t.Log("an old cluster gets well, one gets further, and a new one appears")
	cache.clusters[0] = cluster("old", released(completed("1.36.3")), says(hyperv1.EtcdAvailable, metav1.ConditionTrue, ago(0)))
	says(hyperv1.EtcdAvailable, metav1.ConditionTrue, ago(5*time.Minute))(cache.clusters[1])
	cache.clusters = append(cache.clusters, cluster("new", says(hyperv1.InfrastructureReady, metav1.ConditionTrue, ago(14*time.Minute))))
	once := map[string]any{"condition=EtcdAvailable": [2]float64{1, 600}, "condition=InfrastructureReady": [2]float64{1, 60}}
	cache.expect(metric, once)

	t.Log("nothing is observed twice, whether it stays or comes again")
	cache.expect(metric, once)
	cache.clusters[2] = cluster("new", says(hyperv1.InfrastructureReady, metav1.ConditionFalse, ago(0)))
	cache.expect(metric, once)
	cache.clusters[2] = cluster("new", says(hyperv1.InfrastructureReady, metav1.ConditionTrue, ago(0)))
	cache.expect(metric, once)

	t.Log("a cluster of the same name is another cluster")
	again := cluster("new", says(hyperv1.InfrastructureReady, metav1.ConditionTrue, ago(13*time.Minute)))
	again.UID = "another"
	cache.clusters[2] = again
	cache.expect(metric, map[string]any{"condition=EtcdAvailable": [2]float64{1, 600}, "condition=InfrastructureReady": [2]float64{2, 180}})
}

func TestTransitionsOfPools(t *testing.T) {
	const metric = "hypershift_nodepools_transition_seconds"
	cache := newFakeCache(t)
	cache.pools = append(cache.pools, pool("old", "demo", func(np *hyperv1.NodePool) { np.Status.Version = "1.36.3" }))
	cache.lead()
	cache.pools = append(cache.pools, pool("new", "demo", poolSays(hyperv1.NodePoolAllMachinesReadyCondition, corev1.ConditionTrue, ago(8*time.Minute))))
	poolSays(hyperv1.NodePoolAllMachinesReadyCondition, corev1.ConditionTrue, ago(0))(cache.pools[0])
	cache.expect(metric, map[string]any{"condition=AllMachinesReady": [2]float64{1, 120}})
}

func TestOnlyTheLeaderTells(t *testing.T) {
	cache := newFakeCache(t)
	cache.clusters = append(cache.clusters, cluster("demo"))
	none := func(when string) {
		if n, err := testutil.GatherAndCount(cache.registry); n > 0 || err != nil {
			t.Errorf("%s there are %d metrics, error %v", when, n, err)
		}
	}
	cache.collector()
	none("before it leads")
	stop := cache.lead()
	cache.expect("hypershift_hostedclusters", map[string]any{"platform=AWS": 1.0})
	stop()
	none("when it leads no more")
	cache.lead()
	cache.expect("hypershift_hostedclusters", map[string]any{"platform=AWS": 1.0})
}

func TestAScrapeThatFailsSaysSo(t *testing.T) {
	cache := newFakeCache(t)
	cache.lead()
	cache.fails = errors.New("the cache is gone")
	if _, err := cache.registry.Gather(); err == nil {
		t.Error("a scrape that could list nothing looks like one without clusters")
	}
}

func TestWhetherNetworkPoliciesAreEnforcedIsAbsentWhileUnknown(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]string{
		metav1.ConditionUnknown: "",
		metav1.ConditionFalse:   "# HELP hypershift_network_policies_enforced 1 if the management cluster enforces NetworkPolicies, 0 if a connection that they forbid was made. Absent while no control plane could be tried.\n# TYPE hypershift_network_policies_enforced gauge\nhypershift_network_policies_enforced 0\n",
	} {
		cache := newFakeCache(t)
		cache.lead()
		cache.enforced = status
		if err := testutil.GatherAndCompare(cache.registry, strings.NewReader(want), "hypershift_network_policies_enforced"); err != nil {
			t.Errorf("%s: %v", status, err)
		}
	}
}
