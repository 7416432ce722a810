package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

var (
	auditEvents = describe("hypershift_cluster_audit_events_total",
		"Audit events of a pod of the hosted cluster's API server since its start.", "pod")
	auditEventsLost = describe("hypershift_cluster_audit_events_lost_total",
		"Audit events that a pod of the hosted cluster's API server could not log or send since its start; plugin names the cause.", "pod", "plugin")
)

// AuditEvents are the counters of one pod of the API server.
type AuditEvents struct {
	Events float64
	// Lost has the events that were not written, by the plugin of the API server that has lost them.
	Lost map[string]float64
}

// audit has the counters that were read last. They are counters of other processes, so that they are exported as they are: a
// restart of this operator does not reset them.
type audit struct {
	mutex sync.Mutex
	// planes has the labels and the counters by pod.
	planes map[string]auditedPlane
}

type auditedPlane struct {
	labels []string
	pods   map[string]AuditEvents
}

var audited audit

// Audit records the counters of all pods of the API server.
func Audit(hcp *hyperv1.HostedControlPlane, pods map[string]AuditEvents) {
	audited.mutex.Lock()
	defer audited.mutex.Unlock()
	if audited.planes == nil {
		audited.planes = map[string]auditedPlane{}
	}
	audited.planes[hcp.Namespace] = auditedPlane{labelsOf(hcp), pods}
}

// Describe implements prometheus.Collector.
func (a *audit) Describe(out chan<- *prometheus.Desc) {
	out <- auditEvents
	out <- auditEventsLost
}

// Collect implements prometheus.Collector.
func (a *audit) Collect(out chan<- prometheus.Metric) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, plane := range a.planes {
		for pod, counted := range plane.pods {
			at := append(plane.labels[:len(plane.labels):len(plane.labels)], pod)
			out <- prometheus.MustNewConstMetric(auditEvents, prometheus.CounterValue, counted.Events, at...)
			for plugin, lost := range counted.Lost {
				out <- prometheus.MustNewConstMetric(auditEventsLost, prometheus.CounterValue, lost, append(at[:len(at):len(at)], plugin)...)
			}
		}
	}
}
