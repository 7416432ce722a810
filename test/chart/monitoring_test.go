package chart_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
)

// rules is the used part of a PrometheusRule.
type rules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

// dashboard is the part of a Grafana dashboard with queries.
type dashboard struct {
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
	for _, obj := range render(t, "", monitored...) {
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

func panels(t *testing.T) dashboard {
	t.Helper()
	for _, obj := range render(t, "dashboards: {enabled: true}") {
		if obj.GetName() != "hypershift-dashboard" {
			continue
		}
		var d dashboard
		if err := json.Unmarshal([]byte(typed(t, obj).(*corev1.ConfigMap).Data["hypershift.json"]), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatal("no dashboard is rendered")
	return dashboard{}
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
	ids := map[int]bool{}
	for _, p := range panels(t).Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			where[target.Expr] = p.Title
		}
	}
	for expr, metrics := range parse(t, where) {
		for _, m := range metrics {
			name := strings.TrimSuffix(m, "_bucket")
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
	if err := gobuild.Run(t.Context(), t.Output(), gobuild.Spec{Label: "promql", Dir: path(t, "test", "chart", "promql"), Package: ".", Output: program}); err != nil {
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
	var exprs, seen []string
	for _, g := range alerts(t).Groups {
		for _, r := range g.Rules {
			exprs, seen = append(exprs, r.Expr), append(seen, r.Alert)
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
	_, worth, _ := strings.Cut(string(read(t, path(t, "docs", "metrics.md"))), "## Alerts")
	for _, expr := range names("(?m)^\\| `(hypershift_[^`]+|sum[^`]+)`", []byte(worth)) {
		if !slices.Contains(exprs, expr) {
			t.Errorf("docs/metrics.md lists the alert %s, which does not exist", expr)
		}
	}
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
