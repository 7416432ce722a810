package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

var (
	certificateExpiry = describe("hypershift_cluster_certificate_expiry_timestamp_seconds",
		"When the first certificate of the control plane expires, of those that the operator issues and of those that users bring; secret names it.", "source", "secret")
	certificateRenewal = describe("hypershift_cluster_certificate_renewal_timestamp_seconds",
		"When the operator issues the first certificate of the control plane again; secret names it.", "source", "secret")
	etcdSnapshot = describe("hypershift_cluster_etcd_snapshot_timestamp_seconds",
		"When the last complete snapshot of etcd was saved; 0 if none was.")
)

func describe(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append(labels[:len(labels):len(labels)], more...), nil)
}

// Options are the dependencies of a Collector.
type Options struct {
	// Cache lists HostedControlPlanes. It does not copy them.
	Cache     client.Reader
	Namespace string
	// Certificates returns the certificates of a control plane from the cache.
	Certificates func(context.Context, *hyperv1.HostedControlPlane) ([]certificates.Validity, error)
}

// A Collector exports the metrics of a control plane while its operator is the leader. It is a Runnable of the manager.
type Collector struct{ Options }

// New returns a Collector that exports metrics only after it is started.
func New(opts Options) *Collector { return &Collector{Options: opts} }

// Start exports the metrics until ctx ends.
func (c *Collector) Start(ctx context.Context) error {
	// Fill the cache, for which a scrape must not wait.
	if err := c.each(ctx, func(*hyperv1.HostedControlPlane, []certificates.Validity) {}); err != nil && ctx.Err() == nil {
		return err
	}
	leading.set(c, true)
	defer leading.set(c, false)
	<-ctx.Done()
	return nil
}

// collectors are those that have been started. A process has one, except in tests.
type collectors struct {
	mutex   sync.Mutex
	started map[*Collector]bool
}

var leading collectors

func (l *collectors) set(c *Collector, started bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.started == nil {
		l.started = map[*Collector]bool{}
	}
	l.started[c] = true
	if !started {
		delete(l.started, c)
	}
}

// Describe implements prometheus.Collector.
func (l *collectors) Describe(out chan<- *prometheus.Desc) {
	out <- certificateExpiry
	out <- certificateRenewal
	out <- etcdSnapshot
}

// Collect implements prometheus.Collector.
func (l *collectors) Collect(out chan<- prometheus.Metric) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for c := range l.started {
		c.collect(out)
	}
}

func (c *Collector) collect(out chan<- prometheus.Metric) {
	err := c.each(context.Background(), func(hcp *hyperv1.HostedControlPlane, certs []certificates.Validity) {
		collectCertificates(out, hcp, certs)
		if hcp.Spec.Etcd.ManagementType != hyperv1.Unmanaged {
			out <- prometheus.MustNewConstMetric(etcdSnapshot, prometheus.GaugeValue, seconds(snapshotTime(hcp)), labelsOf(hcp)...)
		}
	})
	if err != nil {
		out <- prometheus.NewInvalidMetric(certificateExpiry, err)
	}
}

func (c *Collector) each(ctx context.Context, visit func(*hyperv1.HostedControlPlane, []certificates.Validity)) error {
	planes := &hyperv1.HostedControlPlaneList{}
	if err := c.Cache.List(ctx, planes, client.InNamespace(c.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing HostedControlPlanes: %w", err)
	}
	for i := range planes.Items {
		hcp := &planes.Items[i]
		certs, err := c.Certificates(ctx, hcp)
		if err != nil {
			return err
		}
		visit(hcp, certs)
	}
	return nil
}

// The certificates that the operator issues are apart from those that users bring, which only users can renew.
const operator, user = "operator", "user"

// collectCertificates exports the certificates that expire first, and the certificate that is issued again first.
func collectCertificates(out chan<- prometheus.Metric, hcp *hyperv1.HostedControlPlane, certs []certificates.Validity) {
	expires := map[string]certificates.Validity{}
	var due certificates.Validity
	for _, cert := range certs {
		source := operator
		if cert.Renewal.IsZero() {
			source = user
		} else if due.Renewal.IsZero() || cert.Renewal.Before(due.Renewal) {
			due = cert
		}
		if first, exists := expires[source]; !exists || cert.Expires.Before(first.Expires) {
			expires[source] = cert
		}
	}
	for source, cert := range expires {
		out <- prometheus.MustNewConstMetric(certificateExpiry, prometheus.GaugeValue, seconds(cert.Expires), labelsOf(hcp, source, cert.Secret)...)
	}
	if !due.Renewal.IsZero() {
		out <- prometheus.MustNewConstMetric(certificateRenewal, prometheus.GaugeValue, seconds(due.Renewal), labelsOf(hcp, operator, due.Secret)...)
	}
}

// snapshotTime is zero if no snapshot was saved, or if the annotation has another value than the command writes.
func snapshotTime(hcp *hyperv1.HostedControlPlane) time.Time {
	at, err := time.Parse(time.RFC3339, hcp.Annotations[names.EtcdSnapshotTimeAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}
