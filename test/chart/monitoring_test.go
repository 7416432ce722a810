package chart_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/fixture/debian"
)

// rules is the used part of a PrometheusRule, in the format of a rules file of Prometheus.
type rules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// allAlerts are values with which the chart installs every alert.
const allAlerts = "monitoring: {etcdSnapshotMaxAgeHours: 24}"

// dashboard is the part of a Grafana dashboard with queries.
type dashboard struct {
	UID    string `json:"uid"`
	Panels []struct {
		ID      int    `json:"id"`
		Title   string `json:"title"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

func alerts(t *testing.T) rules {
	t.Helper()
	for _, obj := range render(t, allAlerts, monitored...) {
		if obj.GetKind() != "PrometheusRule" {
			continue
		}
		text, err := json.Marshal(obj.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		var r rules
		if err := yaml.UnmarshalStrict(text, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Fatal("no PrometheusRule is rendered")
	return rules{}
}

// dashboards returns the chart's dashboards by file name.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	for _, obj := range render(t, "dashboards: {enabled: true}") {
		if obj.GetName() != "hypershift-dashboard" {
			continue
		}
		all := map[string]dashboard{}
		for name, text := range typed(t, obj).(*corev1.ConfigMap).Data {
			var d dashboard
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Fatal(err)
			}
			all[name] = d
		}
		return all
	}
	t.Fatal("no dashboard is rendered")
	return nil
}

// ofLibraries are metrics of the operator that docs/metrics.md does not list.
var ofLibraries = []string{"controller_runtime_reconcile_errors_total", "process_resident_memory_bytes"}

func TestAlertsAndPanelsUseExistingMetrics(t *testing.T) {
	documented := names(`(?m)^\| .(hypershift_\w+). \|`, read(t, path(t, "docs", "metrics.md")))
	where := map[string]string{}
	for _, g := range alerts(t).Groups {
		for _, r := range g.Rules {
			where[r.Expr] = r.Alert
		}
	}
	uids := map[string]string{}
	for name, d := range dashboards(t) {
		if d.UID == "" || uids[d.UID] != "" {
			t.Errorf("%s has the uid %q, which %s has", name, d.UID, uids[d.UID])
		}
		uids[d.UID] = name
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] {
				t.Errorf("two panels of %s have the id %d", name, p.ID)
			}
			ids[p.ID] = true
			for _, target := range p.Targets {
				where[target.Expr] = p.Title
			}
		}
	}
	for expr, metrics := range parse(t, where) {
		for _, m := range metrics {
			name := m
			for _, suffix := range []string{"_bucket", "_sum", "_count"} { // of a histogram
				name = strings.TrimSuffix(name, suffix)
			}
			if !slices.Contains(documented, name) && !slices.Contains(ofLibraries, name) {
				t.Errorf("%s queries %s, which the operator does not serve", where[expr], m)
			}
		}
	}
}

// parse parses the expressions with the parser of Prometheus.
func parse(t *testing.T, exprs map[string]string) map[string][]string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "promql")
	if err := gobuild.Run(t.Context(), t.Output(), gobuild.Spec{Label: "promql", Dir: path(t, "test", "chart", "promql"), Packages: []string{"."}, Output: program}); err != nil {
		t.Fatal(err)
	}
	var list []string
	for expr := range exprs {
		list = append(list, expr)
	}
	in, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin = bytes.NewReader(in)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var metrics [][]string
	if err := json.Unmarshal(out, &metrics); err != nil || len(metrics) != len(list) {
		t.Fatalf("%d results for %d expressions: %v", len(metrics), len(list), err)
	}
	parsed := map[string][]string{}
	for i, expr := range list {
		if len(metrics[i]) == 0 {
			t.Errorf("%s queries no metric: %s", exprs[expr], expr)
		}
		parsed[expr] = metrics[i]
	}
	return parsed
}

func TestEachAlertHasARunbook(t *testing.T) {
	page := read(t, path(t, "docs", "troubleshooting.md"))
	sections := names(`(?m)^### (\w+)$`, page)
	var seen []string
	for _, g := range alerts(t).Groups {
		for _, r := range g.Rules {
			seen = append(seen, r.Alert)
			if !slices.Contains(sections, r.Alert) {
				t.Errorf("docs/troubleshooting.md has no section %s", r.Alert)
			}
			if want := "/docs/troubleshooting.md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], want) {
				t.Errorf("the runbook of %s is %s, want %s", r.Alert, r.Annotations["runbook_url"], want)
			}
			if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("the description of %s is too short", r.Alert)
			}
		}
	}
	for _, section := range sections {
		if strings.HasPrefix(section, "Hypershift") && !slices.Contains(seen, section) {
			t.Errorf("docs/troubleshooting.md has a section %s without an alert", section)
		}
	}
}

// fleet are the alerts that are not about one cluster.
var fleet = []string{"HypershiftOperatorDown", "HypershiftNetworkPoliciesIgnored", "HypershiftThrottledByAWS"}

func TestAlertsNameTheirCluster(t *testing.T) {
	for _, g := range alerts(t).Groups {
		for _, r := range g.Rules {
			named := strings.Contains(r.Annotations["summary"], "{{ $labels.namespace }}") && strings.Contains(r.Annotations["summary"], "{{ $labels.name }}")
			if named == slices.Contains(fleet, r.Alert) {
				t.Errorf("%s names its cluster: %v, in %q", r.Alert, named, r.Annotations["summary"])
			}
		}
	}
}

func TestAlertsDependOnTheirMetrics(t *testing.T) {
	installed := func(values string) (all []string) {
		for _, obj := range render(t, values, monitored...) {
			if obj.GetKind() == "PrometheusRule" {
				text, err := json.Marshal(obj.Object["spec"])
				if err != nil {
					t.Fatal(err)
				}
				all = names(`"alert":"(\w+)"`, text)
			}
		}
		return all
	}
	for values, want := range map[string]map[string]bool{
		"":                                   {"HypershiftOperatorDown": true, "HypershiftAPISlow": true, "HypershiftEtcdSnapshotOld": false, "HypershiftEtcdSnapshotMissing": false},
		allAlerts:                            {"HypershiftOperatorDown": true, "HypershiftAPISlow": true, "HypershiftEtcdSnapshotOld": true, "HypershiftEtcdSnapshotMissing": true},
		"monitoring: {controlPlanes: false}": {"HypershiftOperatorDown": true, "HypershiftAPISlow": false, "HypershiftControlPlaneOperatorDown": false, "HypershiftEtcdFillsUp": false},
	} {
		for alert, there := range want {
			if got := installed(values); slices.Contains(got, alert) != there {
				t.Errorf("with %q the alerts are %v; is %s one of them: want %v", values, got, alert, there)
			}
		}
	}
}

// situation is a case of testdata/alerts.yaml.
type situation struct {
	Name   string              `json:"name"`
	Series []map[string]string `json:"series"`
	Alerts []struct {
		At     string              `json:"at"`
		Alert  string              `json:"alert"`
		Labels []map[string]string `json:"labels"`
	} `json:"alerts"`
}

// TestAlertsFireAndClear runs the cases of testdata/alerts.yaml with promtool. Every alert must be seen firing, and seen quiet.
func TestAlertsFireAndClear(t *testing.T) {
	cache, err := pinned.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root, err := debian.Prometheus.Unpack(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	all := alerts(t)
	promtool(t, root, "check", "rules", "--lint-fatal", save(t, filepath.Join(dir, "complete.yaml"), all))

	var cases []situation
	if err := yaml.UnmarshalStrict(read(t, filepath.Join("testdata", "alerts.yaml")), &cases); err != nil {
		t.Fatal(err)
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	var tests []map[string]any
	for _, c := range cases {
		var expected []map[string]any
		for _, a := range c.Alerts {
			firing := []map[string]any{}
			for _, labels := range a.Labels {
				firing = append(firing, map[string]any{"exp_labels": labels})
			}
			expected = append(expected, map[string]any{"eval_time": a.At, "alertname": a.Alert, "exp_alerts": firing})
			fires[a.Alert], quiet[a.Alert] = fires[a.Alert] || len(firing) > 0, quiet[a.Alert] || len(firing) == 0
		}
		tests = append(tests, map[string]any{"name": c.Name, "interval": "1m", "input_series": c.Series, "alert_rule_test": expected})
	}
	for g := range all.Groups {
		for i, r := range all.Groups[g].Rules {
			if !fires[r.Alert] || !quiet[r.Alert] {
				t.Errorf("no case in which %s fires, or none in which it does not", r.Alert)
			}
			all.Groups[g].Rules[i].Annotations = nil // promtool would compare their text
		}
	}
	rules := save(t, filepath.Join(dir, "rules.yaml"), all)
	promtool(t, root, "test", "rules", save(t, filepath.Join(dir, "tests.yaml"), map[string]any{"rule_files": []string{rules}, "evaluation_interval": "1m", "tests": tests}))
}

// save writes a value as YAML and returns the path.
func save(t *testing.T, file string, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func promtool(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd, err := debian.Command(root, t.TempDir(), "/usr/bin/promtool", args...)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// The namespace of a control plane metric is its pod's namespace. Otherwise the pods of one tenant could report metrics of another.
func TestNamespaceOfControlPlaneMetricsIsThatOfThePod(t *testing.T) {
	for _, obj := range render(t, "", monitored...) {
		if obj.GetKind() != "PodMonitor" {
			continue
		}
		endpoints, _, err := unstructured.NestedSlice(obj.Object, "spec", "podMetricsEndpoints")
		if err != nil || len(endpoints) != 1 {
			t.Fatalf("%d endpoints: %v", len(endpoints), err)
		}
		if honors, _, err := unstructured.NestedBool(endpoints[0].(map[string]any), "honorLabels"); honors || err != nil {
			t.Errorf("labels of the metrics replace those of the pod: %v", err)
		}
		return
	}
	t.Fatal("no PodMonitor is rendered")
}

func TestMonitoringObjectsNeedThePrometheusOperator(t *testing.T) {
	for _, tc := range []struct {
		values string
		args   []string
		want   int
	}{
		{want: 0},
		{args: monitored, want: 3},
		{values: "monitoring: {alerts: false}", args: monitored, want: 2},
		{values: "monitoring: {controlPlanes: false}", args: monitored, want: 2},
		{values: "monitoring: {enabled: false}", args: monitored, want: 0},
	} {
		t.Run(fmt.Sprint(tc.values, tc.args), func(t *testing.T) {
			got := 0
			for _, obj := range render(t, tc.values, tc.args...) {
				if obj.GroupVersionKind().Group == "monitoring.coreos.com" {
					got++
				}
			}
			if got != tc.want {
				t.Errorf("%d objects of the Prometheus operator, want %d", got, tc.want)
			}
		})
	}
}

// names are the matches of the group in the pattern.
func names(pattern string, text []byte) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	return found
}
