package podrunner

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// probe asks one HTTP endpoint. A nil probe is always content.
type probe struct {
	url      string
	delay    time.Duration
	period   time.Duration
	timeout  time.Duration
	failures int
	client   *http.Client
}

// eager is the pace at which a process that is not ready is asked; nobody wants to wait a whole period for the first yes.
const eager = 200 * time.Millisecond

func newProbe(p *corev1.Probe, ports []corev1.ContainerPort, reloc relocation) (*probe, error) {
	if p == nil {
		return nil, nil
	}
	if p.HTTPGet == nil {
		return nil, fmt.Errorf("the pod runner has httpGet probes only")
	}
	port := p.HTTPGet.Port.IntVal
	for _, declared := range ports {
		if declared.Name != "" && declared.Name == p.HTTPGet.Port.StrVal {
			port = declared.ContainerPort
		}
	}
	local, ok := reloc.ports[port]
	if !ok {
		return nil, fmt.Errorf("port %s is not declared by the container", p.HTTPGet.Port.String())
	}
	scheme := "http"
	if p.HTTPGet.Scheme != "" {
		scheme = strings.ToLower(string(p.HTTPGet.Scheme))
	}
	return &probe{
		url:      scheme + "://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(local)) + "/" + strings.TrimPrefix(p.HTTPGet.Path, "/"),
		delay:    time.Duration(p.InitialDelaySeconds) * time.Second,
		period:   time.Duration(max(1, or(p.PeriodSeconds, 10))) * time.Second,
		timeout:  time.Duration(or(p.TimeoutSeconds, 1)) * time.Second,
		failures: int(or(p.FailureThreshold, 3)),
		// As a kubelet does: a probe asks whether somebody answers, not who.
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}, //nolint:gosec // see above
	}, nil
}

func or(value, otherwise int32) int32 {
	if value == 0 {
		return otherwise
	}
	return value
}

// watch reports readiness whenever it is asked for, until ctx ends.
func (p *probe) watch(ctx context.Context, report func(ready bool)) {
	if p == nil {
		report(true)
		return
	}
	failed := 0
	pace := time.NewTicker(eager)
	defer pace.Stop()
	for ready := false; ; {
		switch ok := p.ok(ctx); {
		case ctx.Err() != nil:
			return
		case ok && !ready:
			ready = true
			pace.Reset(p.period)
			report(true)
		case ok:
			failed = 0
		case ready:
			if failed++; failed >= p.failures {
				ready, failed = false, 0
				pace.Reset(eager)
				report(false)
			}
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
}

// untilSick calls sick once when the probe has failed as often as it may, and returns; or when ctx ends.
func (p *probe) untilSick(ctx context.Context, sick func()) {
	if p == nil {
		return
	}
	begin := time.NewTimer(p.delay)
	defer begin.Stop()
	select {
	case <-begin.C:
	case <-ctx.Done():
		return
	}
	pace := time.NewTicker(p.period)
	defer pace.Stop()
	for failed := 0; ; {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
		if p.ok(ctx) {
			failed = 0
			continue
		}
		if failed++; failed >= p.failures && ctx.Err() == nil {
			sick()
			return
		}
	}
}

func (p *probe) ok(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return false
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode >= 200 && resp.StatusCode < 400
}
