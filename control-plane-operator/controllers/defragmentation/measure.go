package defragmentation

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	size = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hypershift_etcd_database_bytes", Help: "Size of the database of a member of the hosted cluster's etcd.",
	}, []string{"namespace", "member"})
	inUse = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hypershift_etcd_database_in_use_bytes", Help: "Size of the data in use in the database of a member of the hosted cluster's etcd.",
	}, []string{"namespace", "member"})
	quota = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hypershift_etcd_database_quota_bytes", Help: "Size limit of the database of a member of the hosted cluster's etcd.",
	}, []string{"namespace", "member"})
)

func init() { metrics.Registry.MustRegister(size, inUse, quota) }

// measure exports the sizes of the databases.
func measure(namespace string, members []member) {
	for _, m := range members {
		size.WithLabelValues(namespace, m.name).Set(float64(m.DbSize))
		inUse.WithLabelValues(namespace, m.name).Set(float64(m.DbSizeInUse))
		quota.WithLabelValues(namespace, m.name).Set(float64(m.DbSizeQuota))
	}
}
