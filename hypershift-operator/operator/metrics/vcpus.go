package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
)

var vcpus = describe("hypershift_cluster_vcpus",
	"Virtual processors of the available nodes of the HostedCluster. Absent while what an instance type has is not known.", clusterLabels...)

// collectVCPUs omits a cluster with an incomplete number: it may be used for
// billing.
func (w *world) collectVCPUs(out chan<- prometheus.Metric, typeOf func(region, name string) *instancetypes.Type) {
	for i := range w.clusters {
		hc := &w.clusters[i]
		if hc.Spec.Platform.AWS == nil {
			continue
		}
		n, complete := sum(w.poolsOf[key{hc.Namespace, hc.Name}], hc.Spec.Platform.AWS.Region, typeOf)
		if complete {
			out <- prometheus.MustNewConstMetric(vcpus, prometheus.GaugeValue, n, namesOf(hc)...)
		}
	}
}

func sum(pools []*hyperv1.NodePool, region string, typeOf func(region, name string) *instancetypes.Type) (n float64, complete bool) {
	for _, np := range pools {
		if np.Status.Replicas == 0 {
			continue
		}
		if np.Spec.Platform.AWS == nil {
			return 0, false
		}
		it := typeOf(region, np.Spec.Platform.AWS.InstanceType)
		if it == nil {
			return 0, false
		}
		n += float64(np.Status.Replicas) * float64(it.VCPUs)
	}
	return n, true
}
