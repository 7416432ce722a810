package metrics

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// plane is a cache with one control plane, and its certificates.
type plane struct {
	client.Reader
	hcp   hyperv1.HostedControlPlane
	certs []certificates.Validity
	fails error
}

func newPlane(name string) *plane {
	p := &plane{}
	p.hcp.Namespace, p.hcp.Name, p.hcp.Spec.ClusterID = "clusters-"+name, name, "id-of-"+name
	p.hcp.Spec.Etcd.ManagementType = hyperv1.Managed
	return p
}

func (p *plane) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*hyperv1.HostedControlPlaneList).Items = []hyperv1.HostedControlPlane{p.hcp}
	return nil
}

// scrape returns the samples of metrics of the plane: values by metric and labels.
func (p *plane) scrape(t *testing.T) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for name, samples := range gather(t, p.registry()) {
		for labels, value := range samples {
			if strings.Contains(labels, "_id="+p.hcp.Spec.ClusterID+",") {
				found[name+" "+strings.TrimPrefix(labels, "_id="+p.hcp.Spec.ClusterID+",")] = value
			}
		}
	}
	return found
}

func (p *plane) registry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(recorded...)
	started := &collectors{}
	started.set(p.collector(), true)
	registry.MustRegister(started)
	return registry
}

func (p *plane) collector() *Collector {
	return New(Options{Cache: p, Certificates: func(context.Context, *hyperv1.HostedControlPlane) ([]certificates.Validity, error) {
		return p.certs, p.fails
	}})
}

func TestOnlyTheLeaderExportsMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&leading)
	exported := func() int { return len(gather(t, registry)["hypershift_cluster_etcd_snapshot_timestamp_seconds"]) }
	one, two := newPlane("one"), newPlane("two")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for _, p := range []*plane{one, two} { // tests run several operators in one process
		go func() { ended <- p.collector().Start(ctx) }()
	}
	for exported() != 2 {
		runtime.Gosched()
	}
	cancel()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Error(err)
	}
	if got := exported(); got != 0 {
		t.Errorf("%d control planes are exported after the end", got)
	}
}

// gather returns the values of all metrics by labels. The value of a histogram is the number of observations.
func gather(t *testing.T, registry *prometheus.Registry) map[string]map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]float64{}
	for _, f := range families {
		found[f.GetName()] = map[string]float64{}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetGauge().GetValue()
			if c := m.GetCounter(); c != nil {
				value = c.GetValue()
			}
			if h := m.GetHistogram(); h != nil {
				value = float64(h.GetSampleCount())
			}
			found[f.GetName()][strings.Join(labels, ",")] = value
		}
	}
	return found
}

func (p *plane) expect(t *testing.T, want map[string]float64) {
	t.Helper()
	if got := p.scrape(t); !maps.Equal(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
}

func TestCertificatesOfTheOperatorAndOfUsersAreApart(t *testing.T) {
	p := newPlane("certificates")
	day := 24 * time.Hour
	p.certs = []certificates.Validity{
		{Secret: "long", Expires: noon.Add(300 * day), Renewal: noon.Add(10 * day)},
		{Secret: "short", Expires: noon.Add(30 * day), Renewal: noon.Add(20 * day)},
		{Secret: "mine", Expires: noon.Add(5 * day)},
		{Secret: "also-mine", Expires: noon.Add(6 * day)},
	}
	at := func(days int) float64 { return float64(noon.Add(time.Duration(days) * day).Unix()) }
	const names = "name=certificates,namespace=clusters-certificates"
	p.expect(t, map[string]float64{
		"hypershift_cluster_certificate_expiry_timestamp_seconds " + names + ",secret=short,source=operator": at(30),
		"hypershift_cluster_certificate_expiry_timestamp_seconds " + names + ",secret=mine,source=user":      at(5),
		"hypershift_cluster_certificate_renewal_timestamp_seconds " + names + ",secret=long,source=operator": at(10),
		"hypershift_cluster_etcd_snapshot_timestamp_seconds " + names:                                        0,
	})
}

func TestTimeOfTheSnapshotIsThatOfTheAnnotation(t *testing.T) {
	const metric = "hypershift_cluster_etcd_snapshot_timestamp_seconds name=snapshot,namespace=clusters-snapshot"
	p := newPlane("snapshot")
	for value, want := range map[string]float64{"": 0, noon.Format(time.RFC3339): float64(noon.Unix()), "yesterday": 0} {
		p.hcp.Annotations = map[string]string{names.EtcdSnapshotTimeAnnotation: value}
		p.expect(t, map[string]float64{metric: want})
	}
	p.hcp.Spec.Etcd.ManagementType = hyperv1.Unmanaged
	p.expect(t, nil)
}

func TestHealthChecksAreRecorded(t *testing.T) {
	p := newPlane("checked")
	p.hcp.Spec.Etcd.ManagementType = hyperv1.Unmanaged
	const names = " name=checked,namespace=clusters-checked"
	API(&p.hcp, false, 0)
	p.expect(t, map[string]float64{"hypershift_cluster_api_ready" + names: 0})
	API(&p.hcp, true, time.Second)
	Nodes(&p.hcp, false, 2)
	p.expect(t, map[string]float64{
		"hypershift_cluster_api_ready" + names: 1, "hypershift_cluster_api_check_duration_seconds" + names: 1,
		"hypershift_cluster_nodes_reachable" + names: 0, "hypershift_cluster_tunnel_agents" + names: 2,
	})
	NoNodes(&p.hcp)
	p.expect(t, map[string]float64{"hypershift_cluster_api_ready" + names: 1, "hypershift_cluster_api_check_duration_seconds" + names: 1})
}

// The counters belong to the API servers. A pod that is gone has none.
func TestAuditEventsAreCountedByPod(t *testing.T) {
	p := newPlane("audited")
	p.hcp.Spec.Etcd.ManagementType = hyperv1.Unmanaged
	const names = "name=audited,namespace=clusters-audited,"
	Audit(&p.hcp, map[string]AuditEvents{"a": {Events: 5}, "b": {Events: 7, Lost: map[string]float64{"buffered": 2, "log": 0}}})
	p.expect(t, map[string]float64{
		"hypershift_cluster_audit_events_total " + names + "pod=a": 5, "hypershift_cluster_audit_events_total " + names + "pod=b": 7,
		"hypershift_cluster_audit_events_lost_total " + names + "plugin=buffered,pod=b": 2, "hypershift_cluster_audit_events_lost_total " + names + "plugin=log,pod=b": 0,
	})
	Audit(&p.hcp, map[string]AuditEvents{"a": {Events: 6}})
	p.expect(t, map[string]float64{"hypershift_cluster_audit_events_total " + names[:len(names)-1] + ",pod=a": 6})
}

func TestAnErrorOfTheCacheIsAnErrorOfTheScrape(t *testing.T) {
	p := newPlane("broken")
	p.fails = errors.New("no cache")
	if _, err := p.registry().Gather(); err == nil || !strings.Contains(err.Error(), "no cache") {
		t.Errorf("the error is %v", err)
	}
}

// everything records each metric.
func everything() *prometheus.Registry {
	p := newPlane("everything")
	p.certs = []certificates.Validity{{Secret: "a", Expires: noon, Renewal: noon}}
	API(&p.hcp, true, time.Second)
	Nodes(&p.hcp, true, 1)
	EtcdMember(&p.hcp, "etcd-0", 3, 2, 4)
	Audit(&p.hcp, map[string]AuditEvents{"kube-apiserver-0": {Events: 1, Lost: map[string]float64{"buffered": 1}}})
	return p.registry()
}

func TestNamesFollowTheConventionsOfPrometheus(t *testing.T) {
	problems, err := testutil.GatherAndLint(everything())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestMetricsPageListsEveryMetric compares docs/metrics.md with a scrape of a control plane, names and labels.
func TestMetricsPageListsEveryMetric(t *testing.T) {
	exported := map[string]string{}
	for name, samples := range gather(t, everything()) {
		for labels := range samples {
			var names []string
			for _, l := range strings.Split(labels, ",") {
				label, _, _ := strings.Cut(l, "=")
				names = append(names, label)
			}
			exported[name] = strings.Join(names, " ")
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "## Each control plane")
	section, _, _ := strings.Cut(page, "\n## ")
	documented := map[string]string{}
	for _, line := range regexp.MustCompile("(?m)^\\| `(hypershift_\\w+)` \\| ([^|]*)\\|").FindAllStringSubmatch(section, -1) {
		further := strings.FieldsFunc(line[2], func(r rune) bool { return strings.ContainsRune(" ,`", r) })
		labels := append([]string{"namespace", "name", "_id"}, further...)
		slices.Sort(labels)
		documented[line[1]] = strings.Join(labels, " ")
	}
	if !maps.Equal(exported, documented) {
		t.Errorf("the page has\n%v\nand the operator\n%v", documented, exported)
	}
}
