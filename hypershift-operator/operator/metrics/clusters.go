package metrics

import (
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// clusterLabels name a HostedCluster; _id is spec.clusterID.
var clusterLabels = []string{"namespace", "name", "_id"}

func namesOf(hc *hyperv1.HostedCluster) []string {
	return []string{hc.Namespace, hc.Name, hc.Spec.ClusterID}
}

var (
	clusters  = describe("hypershift_hostedclusters", "HostedClusters.", "platform")
	upgrading = describe("hypershift_cluster_upgrading_duration_seconds",
		"How long the HostedCluster has been going from one release to another. Absent while it is not.",
		append(clusterLabels, "previous_version", "new_version")...)
	clusterPools = describe("hypershift_hostedcluster_nodepools", "NodePools of the HostedCluster.", append(clusterLabels, "platform")...)
)

var clusterGauges = []gauge[*hyperv1.HostedCluster]{
	{describe("hypershift_cluster_available",
		"1 if the HostedCluster is Available, 0 if it is not, or if that is unknown.",
		clusterLabels...), available},
	{describe("hypershift_cluster_asleep",
		"1 while the HostedCluster sleeps. Absent otherwise.",
		clusterLabels...), asleep},
	{describe("hypershift_cluster_available_change_timestamp_seconds",
		"When the status of Available last changed. Absent before its first report.",
		clusterLabels...), availableSince},
	{describe("hypershift_cluster_waiting_initial_availability_duration_seconds",
		"How long a new HostedCluster has been waiting to be Available. Absent once it is, or once its first release has been rolled out.",
		clusterLabels...), waitingForAvailability},
	{describe("hypershift_cluster_initial_rolling_out_duration_seconds",
		"How long the first release of a new HostedCluster has been rolling out. Absent once it has been.",
		clusterLabels...), rollingOut},
	{describe("hypershift_cluster_deleting_duration_seconds",
		"How long the HostedCluster has been being deleted. Absent while it is not.",
		clusterLabels...), deleting},
	{describe("hypershift_cluster_guest_cloud_resources_deleting_duration_seconds",
		"How long the deletion of the HostedCluster has been waiting for what it made in the cloud by itself. Absent while it is not.",
		clusterLabels...), deletingCloudResources},
	{describe("hypershift_cluster_proxy",
		"1 if the HostedCluster goes out through a proxy, else 0.",
		clusterLabels...), proxy},
	{describe("hypershift_cluster_proxy_ca_valid",
		"1 if the certificates that the HostedCluster trusts its proxy by can be used, 0 if not. Absent without such certificates, and before the first check.",
		clusterLabels...), proxyCA},
	{describe("hypershift_cluster_invalid_aws_creds",
		"0 if AWS accepts the tokens of the HostedCluster, 1 if it does not, 2 if it could not be asked. Absent on other platforms.",
		clusterLabels...), invalidCredentials},
}

func (w *world) collectClusters(out chan<- prometheus.Metric) {
	platforms := map[hyperv1.PlatformType]float64{hyperv1.AWSPlatform: 0}
	wrong := failures{}
	for i := range w.clusters {
		hc := &w.clusters[i]
		labels, platform := namesOf(hc), hc.Spec.Platform.Type
		platforms[platform]++
		wrong.count(platform, healthyClusters, conditionsOf(hc.Status.Conditions))
		collect(out, clusterGauges, hc, w.now, labels...)
		if from, to, since, going := upgrade(hc); going {
			out <- prometheus.MustNewConstMetric(upgrading, prometheus.GaugeValue, seconds(since, w.now), append(labels, from, to)...)
		}
		n := float64(len(w.poolsOf[key{hc.Namespace, hc.Name}]))
		out <- prometheus.MustNewConstMetric(clusterPools, prometheus.GaugeValue, n, append(labels, string(platform))...)
	}
	collectPlatforms(out, clusters, platforms)
	wrong.collect(out, clusterFailures)
}

func collectPlatforms(out chan<- prometheus.Metric, desc *prometheus.Desc, platforms map[hyperv1.PlatformType]float64) {
	for platform, n := range platforms {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, n, string(platform))
	}
}

// installed reports whether the first release of a cluster has been rolled out.
func installed(hc *hyperv1.HostedCluster) bool {
	_, ok := completed(hc)
	return ok
}

// completed is the last release that was rolled out.
func completed(hc *hyperv1.HostedCluster) (last configv1.UpdateHistory, ok bool) {
	if hc.Status.Version == nil {
		return last, false
	}
	for _, h := range hc.Status.Version.History { // newest first
		if h.State == configv1.CompletedUpdate {
			return h, true
		}
	}
	return last, false
}

func available(hc *hyperv1.HostedCluster, _ time.Time) (float64, bool) {
	return flag(meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable)), true
}

// asleep includes a cluster that loses its last pods.
func asleep(hc *hyperv1.HostedCluster, _ time.Time) (float64, bool) {
	available := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterAvailable)
	return 1, meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAsleep) || available != nil && available.Reason == hyperv1.AsleepReason
}

func availableSince(hc *hyperv1.HostedCluster, _ time.Time) (float64, bool) {
	c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterAvailable)
	if c == nil {
		return 0, false
	}
	return float64(c.LastTransitionTime.Unix()), true
}

func waitingForAvailability(hc *hyperv1.HostedCluster, now time.Time) (float64, bool) {
	waiting := !installed(hc) && !meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable)
	return seconds(hc.CreationTimestamp.Time, now), waiting && hc.DeletionTimestamp.IsZero()
}

func rollingOut(hc *hyperv1.HostedCluster, now time.Time) (float64, bool) {
	return seconds(hc.CreationTimestamp.Time, now), !installed(hc) && hc.DeletionTimestamp.IsZero()
}

// upgrade returns the rollout that follows the first release.
func upgrade(hc *hyperv1.HostedCluster) (from, to string, since time.Time, going bool) {
	last, ok := completed(hc)
	if !ok {
		return "", "", since, false
	}
	newest := hc.Status.Version.History[0]
	return last.Version, newest.Version, newest.StartedTime.Time, newest.State == configv1.PartialUpdate
}

func deleting(hc *hyperv1.HostedCluster, now time.Time) (float64, bool) {
	if hc.DeletionTimestamp.IsZero() {
		return 0, false
	}
	return seconds(hc.DeletionTimestamp.Time, now), true
}

// deletingCloudResources lasts until they are gone, or given up.
func deletingCloudResources(hc *hyperv1.HostedCluster, now time.Time) (float64, bool) {
	destroyed := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	if destroyed == nil || destroyed.Status == metav1.ConditionTrue || destroyed.Reason == hyperv1.CloudResourcesCleanupSkippedReason {
		return 0, false
	}
	return deleting(hc, now)
}

func proxyOf(hc *hyperv1.HostedCluster) *configv1.ProxySpec {
	if hc.Spec.Configuration == nil {
		return nil
	}
	return hc.Spec.Configuration.Proxy
}

func proxy(hc *hyperv1.HostedCluster, _ time.Time) (float64, bool) {
	p := proxyOf(hc)
	return flag(p != nil && (p.HTTPProxy != "" || p.HTTPSProxy != "")), true
}

func proxyCA(hc *hyperv1.HostedCluster, _ time.Time) (float64, bool) {
	p := proxyOf(hc)
	valid := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidProxyConfiguration)
	if p == nil || p.TrustedCA.Name == "" || valid == nil || valid.Status == metav1.ConditionUnknown {
		return 0, false
	}
	return flag(valid.Status == metav1.ConditionTrue), true
}

// invalidCredentials has three values: that AWS does not answer is not the
// fault of the credentials.
func invalidCredentials(hc *hyperv1.HostedCluster, _ time.Time) (float64, bool) {
	const valid, invalid, unknown = 0, 1, 2
	onAWS := hc.Spec.Platform.Type == hyperv1.AWSPlatform
	accepted := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidAWSIdentityProvider)
	switch {
	case accepted == nil || accepted.Status == metav1.ConditionUnknown:
		return unknown, onAWS
	case accepted.Status == metav1.ConditionTrue:
		return valid, onAWS
	}
	return invalid, onAWS
}
