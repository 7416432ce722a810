package metrics_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/meter"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// everything is a test environment in which each metric has something to say.
func everything(t *testing.T) *fakeCache {
	cache := newFakeCache(t)
	cache.lead()
	cache.enforced = metav1.ConditionTrue
	cache.clusters = append(cache.clusters,
		cluster("new", says(hyperv1.EtcdAvailable, metav1.ConditionTrue, ago(0))),
		cluster("upgrading", released(partial("1.36.3", ago(time.Minute)), completed("1.35.4"))),
		cluster("going", deleted(ago(time.Minute)), says(hyperv1.CloudResourcesDestroyed, metav1.ConditionFalse, ago(0))),
		cluster("available", says(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, ago(time.Minute))),
		cluster("asleep", sleeps),
		cluster("proxied", says(hyperv1.ValidProxyConfiguration, metav1.ConditionTrue, ago(0)), func(hc *hyperv1.HostedCluster) {
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPProxy: "http://proxy.example.test"}}
			hc.Spec.Configuration.Proxy.TrustedCA.Name = "proxy-ca"
		}),
	)
	cache.pools = append(cache.pools,
		pool("new", "new", poolSays(hyperv1.NodePoolAllNodesHealthyCondition, corev1.ConditionTrue, ago(0))),
		pool("going", "going", func(np *hyperv1.NodePool) { np.DeletionTimestamp = ptr.To(ago(0)) }),
	)
	calls, err := meter.New(cache.registry)
	if err != nil {
		t.Fatal(err)
	}
	cfg := fakeaws.New(cache.clock).Account("111111111111").Config("us-east-1", "hypershift-operator")
	cfg.APIOptions = append(cfg.APIOptions, calls.Middleware)
	if _, err := awsx.STS(cfg).GetCallerIdentity(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return cache
}

func TestNamesAreAsPrometheusWantsThem(t *testing.T) {
	problems, err := testutil.GatherAndLint(everything(t).registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestThePageHasEveryMetric compares docs/metrics.md with a scrape, names and labels.
func TestThePageHasEveryMetric(t *testing.T) {
	cache := everything(t)
	families, err := cache.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	exported := map[string]string{}
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		exported[f.GetName()] = sorted(labels)
	}
	page := page(t)
	for name, labels := range exported {
		if documented, ok := page[name]; !ok || documented != labels {
			t.Errorf("docs/metrics.md: %s has the labels {%s}, and the page says {%s}", name, labels, documented)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(page)) {
		if _, ok := exported[name]; !ok {
			t.Errorf("docs/metrics.md: there is no metric %s", name)
		}
	}
}

var (
	line  = regexp.MustCompile("(?m)^\\| `(hypershift_[a-z_]+)` \\| ([^|]*)\\|")
	label = regexp.MustCompile("`[a-z_]+`")
)

// page is the documentation: the labels of each metric.
func page(t *testing.T) map[string]string {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	ours, _, _ := strings.Cut(string(text), "## Each control plane") // those are of the control-plane-operator
	documented := map[string]string{}
	for _, section := range strings.Split(ours, "\n## ") {
		// Labels of all metrics of the section are above its table.
		var shared []string
		if _, rest, ok := strings.Cut(section, "\nWith the labels "); ok {
			sentence, _, _ := strings.Cut(rest, ".\n")
			shared = label.FindAllString(sentence, -1)
		}
		for _, found := range line.FindAllStringSubmatch(section, -1) {
			documented[found[1]] = sorted(append(label.FindAllString(found[2], -1), shared...))
		}
	}
	return documented
}

func sorted(labels []string) string {
	slices.Sort(labels)
	return strings.ReplaceAll(strings.Join(labels, ","), "`", "")
}
