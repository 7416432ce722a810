package hostedapi

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/metrics"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	// countInterval is the interval between two reads of the counters. They are among all metrics of the API server, which are
	// megabytes.
	countInterval = 5 * time.Minute
	// firstCount is when they are read after the start of the operator: not while a control plane starts.
	firstCount = time.Minute
	// maxMetrics is the limit of the metrics of an API server.
	maxMetrics = 64 << 20
)

// Metrics of the API server.
var (
	eventTotal = regexp.MustCompile(`^apiserver_audit_event_total (\S+)`)
	errorTotal = regexp.MustCompile(`^apiserver_audit_error_total\{plugin="([a-z_]+)"\} (\S+)`)
)

// countAuditEvents records how many audit events the API servers have lost. Requests do not wait for the reader of the log or for the
// audit webhook, so that nothing else shows it. A pod that cannot be read is skipped: the health check reports API servers that fail.
func (r *Reconciler) countAuditEvents(ctx context.Context, s *scope) error {
	key, now := client.ObjectKeyFromObject(s.hcp), r.Clock.Now()
	last, exists := r.counted[key]
	if !exists {
		last = now.Add(firstCount - countInterval)
		r.counted[key] = last
	}
	if s.answer.problem != nil || now.Sub(last) < countInterval {
		return nil
	}
	r.counted[key] = now
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(s.hcp.Namespace), client.MatchingLabels{"app": names.KubeAPIServer}); err != nil {
		return fmt.Errorf("listing the pods of %s: %w", names.KubeAPIServer, err)
	}
	counted := map[string]metrics.AuditEvents{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		address := apiAddress(pod)
		if address == "" {
			continue
		}
		events, err := s.answer.kubeconfig.auditEvents(ctx, address)
		if err != nil {
			ctrl.LoggerFrom(ctx).Info("Audit events are not counted", "pod", pod.Name, "because", err.Error())
			continue
		}
		counted[pod.Name] = events
	}
	metrics.Audit(s.hcp, counted)
	return nil
}

// apiAddress is where a running pod serves the API, or empty.
func apiAddress(pod *corev1.Pod) string {
	if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" {
		return ""
	}
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			if c.Name == names.KubeAPIServer && port.Name == "client" {
				return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort)))
			}
		}
	}
	return ""
}

// auditEvents reads the counters of the API server at an address.
func (k *kubeconfig) auditEvents(ctx context.Context, address string) (metrics.AuditEvents, error) {
	none := metrics.AuditEvents{}
	c, err := k.at(address)
	if err != nil {
		return none, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.server.JoinPath("metrics").String(), nil)
	if err != nil {
		return none, fmt.Errorf("reading metrics: %w", err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return none, fmt.Errorf("reading metrics of %s: %w", address, errors.Unwrap(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return none, fmt.Errorf("reading metrics of %s: it answers %s", address, status(resp.StatusCode))
	}
	return parseAuditEvents(io.LimitReader(resp.Body, maxMetrics))
}

// at returns a client of one server behind the Service.
func (k *kubeconfig) at(address string) (*http.Client, error) {
	config, err := rest.TLSConfigFor(k.config)
	if err != nil {
		return nil, errors.New("the certificates of the kubeconfig cannot be used") // the reason may quote them
	}
	config.ServerName = cmp.Or(config.ServerName, k.server.Hostname())
	transport, err := rest.HTTPWrappersForConfig(k.config, &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
		TLSClientConfig: config, DisableKeepAlives: true, DisableCompression: true,
	})
	if err != nil {
		return nil, errors.New("the credentials of the kubeconfig cannot be used")
	}
	return &http.Client{Transport: transport, Timeout: requestTimeout}, nil
}

// parseAuditEvents reads metrics in the text format. A plugin without errors has no counter: it has lost nothing, and later increases
// are seen only after a zero.
func parseAuditEvents(text io.Reader) (metrics.AuditEvents, error) {
	counted := metrics.AuditEvents{Lost: map[string]float64{"buffered": 0, "log": 0, "truncate": 0, "webhook": 0}}
	lines, found := bufio.NewReader(text), false
	for {
		line, err := lines.ReadSlice('\n') // the beginning of a long line is sufficient
		if match := eventTotal.FindSubmatch(line); match != nil {
			if n, err := strconv.ParseFloat(string(match[1]), 64); err == nil {
				counted.Events, found = n, true
			}
		} else if match := errorTotal.FindSubmatch(line); match != nil {
			if n, err := strconv.ParseFloat(string(match[2]), 64); err == nil {
				counted.Lost[string(match[1])] = n
			}
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case !errors.Is(err, io.EOF):
			return counted, fmt.Errorf("reading metrics: %w", err)
		case !found:
			return counted, errors.New("the metrics have no apiserver_audit_event_total")
		default:
			return counted, nil
		}
	}
}
