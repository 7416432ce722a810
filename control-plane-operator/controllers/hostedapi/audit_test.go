package hostedapi

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// serve adds a pod of the API server at the address of a fake.
func (e *fakeAPIServer) serve(name string, at *apiServer) *corev1.Pod {
	e.T.Helper()
	host, port, _ := strings.Cut(at.Listener.Addr().String(), ":")
	number, err := strconv.Atoi(port)
	e.Must(err)
	pod := &corev1.Pod{ObjectMeta: testenv.In(namespace, name), Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: names.KubeAPIServer, Ports: []corev1.ContainerPort{{Name: "client", ContainerPort: int32(number)}}},
	}}}
	pod.Labels = map[string]string{"app": names.KubeAPIServer}
	e.Create(pod)
	e.Change(pod, func() { pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: host} })
	return pod
}

// lostEvents returns the exported counters of lost events, by pod and plugin.
func lostEvents(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "hypershift_cluster_audit_events_lost_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if n := m.GetCounter().GetValue(); n > 0 {
				found[labels["pod"]+" "+labels["plugin"]] = n
			}
		}
	}
	return found
}

// Each pod has counters of its own, and the Service leads to any of them.
func TestLostAuditEventsOfEachAPIServerAreCounted(t *testing.T) {
	e := deployed(t)
	e.api.metrics = "apiserver_audit_event_total 10\napiserver_audit_error_total{plugin=\"buffered\"} 3\napiserver_audit_error_total{plugin=\"truncate\"} 1\n"
	other := newAPIServer(t)
	other.metrics = "# HELP x y\napiserver_audit_event_total 1.5e+06\n" + strings.Repeat("z", 10000) + " 1\napiserver_audit_error_total{plugin=\"webhook\"} 400\n"
	e.serve("one", e.api)
	e.serve("two", other)
	pending := &corev1.Pod{ObjectMeta: testenv.In(namespace, "pending")}
	pending.Labels = map[string]string{"app": names.KubeAPIServer}
	e.Create(pending)
	e.Later()
	if got := lostEvents(t); len(got) > 0 {
		t.Errorf("while the control plane starts: %v", got)
	}
	e.Clock.Step(countInterval)
	e.Later()
	want := map[string]float64{"one buffered": 3, "one truncate": 1, "two webhook": 400}
	if got := lostEvents(t); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	other.metrics = "" // for example a server that an administrator has forbidden to serve metrics
	e.api.metrics = strings.Replace(e.api.metrics, " 3", " 4", 1)
	e.Later()
	if got := lostEvents(t); !maps.Equal(got, want) {
		t.Errorf("read again at once: %v", got)
	}
	e.Clock.Step(countInterval)
	e.Later()
	if got := lostEvents(t); !maps.Equal(got, map[string]float64{"one buffered": 4, "one truncate": 1}) {
		t.Errorf("got %v", got)
	}
}

func TestMetricsOfAnAPIServerThatIsNotReadyAreNotRead(t *testing.T) {
	e := deployed(t)
	e.api.metrics = "apiserver_audit_event_total 10\napiserver_audit_error_total{plugin=\"buffered\"} 9\n"
	e.api.code, e.api.readyz = http.StatusInternalServerError, noEtcd
	e.serve("unready", e.api)
	e.Clock.Step(time.Hour)
	e.Later()
	if got := lostEvents(t)["unready buffered"]; got != 0 {
		t.Errorf("%v lost events", got)
	}
}

func TestMetricsWithoutAuditEventsAreRefused(t *testing.T) {
	for _, text := range []string{"", "apiserver_audit_event_total x\n", "apiserver_audit_events 1\n"} {
		if got, err := parseAuditEvents(strings.NewReader(text)); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	got, err := parseAuditEvents(strings.NewReader(fmt.Sprintf("apiserver_audit_event_total %d", 7)))
	if err != nil || got.Events != 7 || got.Lost["buffered"] != 0 || len(got.Lost) != 4 {
		t.Errorf("%v, %v", got, err)
	}
}
