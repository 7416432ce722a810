package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// traffic is what the API server of the management cluster is asked: all requests so far, without those of the clients of the bench, and open
// watches. Manifests are applied by another client, which counts.
type traffic struct{ requests, watches float64 }

// ownRequests counts the requests of the bench.
type ownRequests struct{ n atomic.Int64 }

// count makes a configuration count its requests.
func (o *ownRequests) count(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			o.n.Add(1)
			return next.RoundTrip(r)
		})
	})
	return cfg
}

// traffic reads the metrics of the API server.
func (b *labBench) traffic(ctx context.Context) (t traffic, err error) {
	text, err := b.kube.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return t, fmt.Errorf("reading the metrics of the management API server: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		return t, fmt.Errorf("parsing the metrics of the management API server: %w", err)
	}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		t.requests += m.GetCounter().GetValue()
	}
	t.requests -= float64(b.own.n.Load())
	for _, m := range families["apiserver_longrunning_requests"].GetMetric() {
		if labelOf(m, "verb") == "WATCH" {
			t.watches += m.GetGauge().GetValue()
		}
	}
	return t, nil
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// renewedLeases counts the Leases of a control plane that have been renewed lately.
func (b *labBench) renewedLeases(ctx context.Context, hc client.ObjectKey) (n float64, err error) {
	list, err := b.kube.CoordinationV1().Leases(controlPlane(hc)).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("listing Leases: %w", err)
	}
	for _, l := range list.Items {
		if recent(&l) {
			n++
		}
	}
	return n, nil
}

func recent(l *coordinationv1.Lease) bool {
	return l.Spec.RenewTime != nil && time.Since(l.Spec.RenewTime.Time) < 2*time.Minute
}
