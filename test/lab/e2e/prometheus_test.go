//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// monitoringNamespace carries the label that the operators' NetworkPolicies require.
const monitoringNamespace = "monitoring"

// prometheusObjects run Prometheus with the permissions that its operator gives it.
const prometheusObjects = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: monitoring}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: e2e-prometheus}
rules:
- {apiGroups: [""], resources: [pods, services], verbs: [get, list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: e2e-prometheus}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: e2e-prometheus}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: monitoring}]
---
apiVersion: v1
kind: Pod
metadata: {name: prometheus, namespace: monitoring}
spec:
  serviceAccountName: prometheus
  securityContext: {runAsUser: 65534, runAsNonRoot: true, fsGroup: 65534}
  containers:
  - name: prometheus
    image: ${IMAGE}
    args: [--config.file=/etc/prometheus/prometheus.yml, --storage.tsdb.path=/data, --web.listen-address=:9090, --rules.alert.resend-delay=1s]
    ports: [{containerPort: 9090}]
    readinessProbe: {httpGet: {path: /-/ready, port: 9090}, periodSeconds: 1}
    volumeMounts:
    - {name: config, mountPath: /etc/prometheus}
    - {name: certificate, mountPath: /etc/certificate}
    - {name: data, mountPath: /data}
  volumes:
  - {name: config, configMap: {name: prometheus}}
  - {name: certificate, secret: {secretName: hypershift-metrics-client, defaultMode: 0o440}}
  - {name: data, emptyDir: {}}
`

// prometheus is a real Prometheus in the management cluster.
type prometheus struct {
	t      *testing.T
	client kubernetes.Interface
	// rules are the names of its alerts.
	rules []string
}

// startPrometheus runs Prometheus with the monitors and alerts of the chart, as the Prometheus operator would translate them. quicken changes the
// expressions of the alerts; an alert that has to be active for some time fires after four seconds.
func startPrometheus(t *testing.T, c client.Client, quicken *strings.Replacer) *prometheus {
	t.Helper()
	p := &prometheus{t: t}
	var err error
	p.client, err = kubernetes.NewForConfig(on.Config)
	p.must(err)
	pushed, err := images.Push(t.Context(), images.Options{Registry: cluster.Registry, Progress: t.Output()}, images.Prometheus)
	p.must(err)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: monitoringNamespace, Labels: map[string]string{"network.openshift.io/policy-group": "monitoring"}}}
	p.must(c.Create(t.Context(), namespace))
	t.Cleanup(func() { p.must(c.Delete(context.WithoutCancel(t.Context()), namespace)) })
	monitors := p.monitors()
	config, err := yaml.Marshal(p.config(monitors))
	p.must(err)
	rules := p.alertRules(monitors, quicken)
	p.must(c.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: monitoringNamespace, Name: "prometheus"},
		Data:       map[string]string{"prometheus.yml": string(config), "rules.yml": rules},
	}))
	// The Prometheus operator copies the Secret that the PodMonitor names.
	certificate := &corev1.Secret{}
	p.must(c.Get(t.Context(), client.ObjectKey{Namespace: hosting.Namespace, Name: "hypershift-metrics-client"}, certificate))
	p.must(c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: monitoringNamespace, Name: certificate.Name}, Data: certificate.Data}))
	p.must(on.Apply(t.Context(), map[string]string{"IMAGE": pushed[images.Prometheus]}, prometheusObjects))
	kubectl(t, "wait", "-n", monitoringNamespace, "--for=condition=Ready", "--timeout=2m", "pod/prometheus")
	return p
}

func (p *prometheus) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// monitors returns the chart's objects for the Prometheus operator, by kind. The lab does not have the CRDs of these objects.
func (p *prometheus) monitors() map[string]*unstructured.Unstructured {
	p.t.Helper()
	root, err := pinned.Root()
	p.must(err)
	args := []string{
		"template", hosting.Release, filepath.Join(root, "config", "helm", "hypershift"), "--namespace", hosting.Namespace, "--show-only", "templates/monitoring.yaml",
		"--set", "monitoring.etcdSnapshotMaxAgeHours=24",
	}
	found := map[string]*unstructured.Unstructured{}
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "PrometheusRule"} {
		args = append(args, "--api-versions", "monitoring.coreos.com/v1/"+kind)
	}
	out, err := on.Helm(p.t.Context(), args...)
	p.must(err)
	objects, err := fixture.Decode(out)
	p.must(err)
	for _, o := range objects {
		found[o.GetKind()] = o
	}
	return found
}

// alertRules returns the rules file, and notes the names of its alerts.
func (p *prometheus) alertRules(monitors map[string]*unstructured.Unstructured, quicken *strings.Replacer) string {
	p.t.Helper()
	text, err := json.Marshal(monitors["PrometheusRule"].Object["spec"])
	p.must(err)
	var file struct {
		Groups []struct {
			Name  string           `json:"name"`
			Rules []map[string]any `json:"rules"`
		} `json:"groups"`
	}
	p.must(json.Unmarshal(text, &file))
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			p.rules = append(p.rules, r["alert"].(string))
			r["expr"] = quicken.Replace(r["expr"].(string))
			if r["for"] != nil {
				r["for"] = "4s"
			}
		}
	}
	text, err = yaml.Marshal(file)
	p.must(err)
	return string(text)
}

// monitor is the part of a ServiceMonitor or PodMonitor that the chart uses. A field that it does not use is an error.
type monitor struct {
	Selector          metav1.LabelSelector `json:"selector"`
	NamespaceSelector struct {
		Any bool `json:"any"`
	} `json:"namespaceSelector"`
	Endpoints           []endpoint `json:"endpoints"`
	PodMetricsEndpoints []endpoint `json:"podMetricsEndpoints"`
}

type endpoint struct {
	Port      string `json:"port"`
	Scheme    string `json:"scheme"`
	TLSConfig struct {
		InsecureSkipVerify bool            `json:"insecureSkipVerify"`
		Cert               json.RawMessage `json:"cert,omitempty"`
		KeySecret          json.RawMessage `json:"keySecret,omitempty"`
	} `json:"tlsConfig"`
	BearerTokenFile   string `json:"bearerTokenFile"`
	Interval          string `json:"interval"`
	HonorLabels       bool   `json:"honorLabels"`
	MetricRelabelings []struct {
		SourceLabels []string `json:"sourceLabels,omitempty"`
		Regex        string   `json:"regex,omitempty"`
		Action       string   `json:"action,omitempty"`
	} `json:"metricRelabelings"`
}

// config translates the monitors into a configuration that scrapes and evaluates every two seconds.
func (p *prometheus) config(monitors map[string]*unstructured.Unstructured) map[string]any {
	p.t.Helper()
	var jobs []any
	for kind, role := range map[string]string{"ServiceMonitor": "endpointslice", "PodMonitor": "pod"} {
		var m monitor
		text, err := json.Marshal(monitors[kind].Object["spec"])
		p.must(err)
		p.must(yaml.UnmarshalStrict(text, &m))
		for _, e := range append(m.Endpoints, m.PodMetricsEndpoints...) {
			jobs = append(jobs, scrapeJob(monitors[kind], role, m, e))
		}
	}
	return map[string]any{
		"global":         map[string]any{"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"},
		"rule_files":     []string{"rules.yml"},
		"scrape_configs": jobs,
	}
}

func scrapeJob(of *unstructured.Unstructured, role string, m monitor, e endpoint) map[string]any {
	keep := func(label, value string) map[string]any {
		return map[string]any{"source_labels": []string{label}, "regex": value, "action": "keep"}
	}
	copied := func(from, to string) map[string]any {
		return map[string]any{"source_labels": []string{from}, "target_label": to}
	}
	selected, port := "__meta_kubernetes_service_label_", "__meta_kubernetes_endpointslice_port_name"
	if role == "pod" {
		selected, port = "__meta_kubernetes_pod_label_", "__meta_kubernetes_pod_container_port_name"
	}
	relabel := []any{keep(port, e.Port), copied("__meta_kubernetes_namespace", "namespace"), copied("__meta_kubernetes_pod_name", "pod"), copied(port, "endpoint")}
	for name, value := range m.Selector.MatchLabels {
		relabel = append(relabel, keep(selected+name, value))
	}
	discovery := map[string]any{"role": role}
	if !m.NamespaceSelector.Any {
		discovery["namespaces"] = map[string]any{"names": []string{of.GetNamespace()}}
	}
	tls := map[string]any{"insecure_skip_verify": e.TLSConfig.InsecureSkipVerify}
	if e.TLSConfig.Cert != nil {
		tls["cert_file"], tls["key_file"] = "/etc/certificate/tls.crt", "/etc/certificate/tls.key"
	}
	job := map[string]any{
		"job_name": of.GetKind() + "/" + of.GetName(), "scheme": e.Scheme, "honor_labels": e.HonorLabels, "tls_config": tls,
		"kubernetes_sd_configs": []any{discovery}, "relabel_configs": relabel,
	}
	if e.BearerTokenFile != "" {
		job["authorization"] = map[string]any{"credentials_file": e.BearerTokenFile}
	}
	var metricRelabel []any
	for _, r := range e.MetricRelabelings {
		one := map[string]any{"action": r.Action, "regex": r.Regex}
		if len(r.SourceLabels) > 0 {
			one["source_labels"] = r.SourceLabels
		}
		metricRelabel = append(metricRelabel, one)
	}
	if len(metricRelabel) > 0 {
		job["metric_relabel_configs"] = metricRelabel
	}
	return job
}

// get requests a path of the API of Prometheus through the management API server.
func (p *prometheus) get(ctx context.Context, path string, params map[string]string, into any) error {
	text, err := p.client.CoreV1().Pods(monitoringNamespace).ProxyGet("http", "prometheus", "9090", path, params).DoRaw(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// firing returns the labels of an alert for each time that it fires.
func (p *prometheus) firing(ctx context.Context, alert string) (found []map[string]string, all []string, err error) {
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string `json:"labels"`
				State  string            `json:"state"`
			} `json:"alerts"`
		} `json:"data"`
	}
	if err := p.get(ctx, "api/v1/alerts", nil, &answer); err != nil {
		return nil, nil, err
	}
	for _, a := range answer.Data.Alerts {
		if a.State != "firing" {
			continue
		}
		all = append(all, a.Labels["alertname"])
		if a.Labels["alertname"] == alert {
			found = append(found, a.Labels)
		}
	}
	return found, all, nil
}

// expectFiring returns an error unless the alert fires with these labels.
func (p *prometheus) expectFiring(ctx context.Context, alert string, labels map[string]string) error {
	found, all, err := p.firing(ctx, alert)
	if err != nil {
		return err
	}
	for _, f := range found {
		same := true
		for name, value := range labels {
			same = same && f[name] == value
		}
		if same {
			return nil
		}
	}
	return fmt.Errorf("%s fires with %v, want %v; these alerts fire: %v", alert, found, labels, all)
}

// expectQuiet returns an error if the alert fires.
func (p *prometheus) expectQuiet(ctx context.Context, alert string) error {
	found, _, err := p.firing(ctx, alert)
	if err == nil && len(found) > 0 {
		return fmt.Errorf("%s fires with %v", alert, found)
	}
	return err
}

// expectSample returns an error unless the query returns a sample.
func (p *prometheus) expectSample(ctx context.Context, query string) error {
	var answer struct {
		Data struct {
			Result []json.RawMessage `json:"result"`
		} `json:"data"`
	}
	err := p.get(ctx, "api/v1/query", map[string]string{"query": query}, &answer)
	if err == nil && len(answer.Data.Result) == 0 {
		return fmt.Errorf("%s has no result", query)
	}
	return err
}
