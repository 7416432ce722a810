package kubeapiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
)

// An output is a pipe from the API server, as a container runtime reads it.
type output struct {
	write *os.File
	// reading is locked while the runtime is stopped.
	reading sync.Mutex
	text    bytes.Buffer
	ended   chan struct{}
}

func newOutput(t *testing.T) *output {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &output{write: write, ended: make(chan struct{})}
	go func() {
		defer close(o.ended)
		chunk := make([]byte, 4096)
		for {
			n, err := read.Read(chunk)
			o.reading.Lock()
			o.text.Write(chunk[:n])
			o.reading.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = write.Close(); _ = read.Close() })
	return o
}

// has waits for a text.
func (o *output) has(t *testing.T, text string) {
	t.Helper()
	o.hasAfter(t, text, func() {})
}

// hasAfter waits for a text, and calls a function before each look.
func (o *output) hasAfter(t *testing.T, text string, again func()) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		again()
		o.reading.Lock()
		found := bytes.Contains(o.text.Bytes(), []byte(text))
		o.reading.Unlock()
		if found {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("there is no %q", text)
		}
	}
}

// audited is a control plane with both outputs of its API server.
type audited struct {
	*controlPlane
	stdout, stderr *output
}

// startAudited replaces flags of the API server.
func startAudited(t *testing.T, env *target.ControlPlane, flags map[string]string) *audited {
	t.Helper()
	a := &audited{stdout: newOutput(t), stderr: newOutput(t)}
	a.controlPlane = startControlPlane(t, env, func(m *machine) {
		m.stdout, m.stderr = a.stdout.write, a.stderr.write
		for from, to := range flags {
			m.replace[from] = to
		}
	})
	return a
}

// answerTimeout is the time in which a request must be answered. It takes milliseconds.
const answerTimeout = 30 * time.Second

// request reads an object by several clients, and returns the number of requests that were not answered. It gives up soon.
func (a *audited) request(n int, name string) int64 {
	var missing, done atomic.Int64
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for missing.Load() == 0 && done.Add(1) <= int64(n) {
				ctx, cancel := context.WithTimeout(a.t.Context(), answerTimeout)
				if _, err := a.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{}); ctx.Err() != nil {
					missing.Add(1)
					a.t.Logf("a request has no answer: %v", err)
				}
				cancel()
			}
		})
	}
	clients.Wait()
	return missing.Load()
}

// metric returns a metric of the API server, with all labels.
func (a *audited) metric(name string) float64 {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), answerTimeout)
	defer cancel()
	text, err := a.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	a.must(err)
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			a.must(err)
			return n
		}
	}
	return 0
}

const droppedEvents = `apiserver_audit_error_total{plugin="buffered"}`

// A container runtime that is stopped reads neither output. An API server that blocked would also be reported as ready.
func TestUnreadLogDoesNotBlockRequests(t *testing.T) {
	a := startAudited(t, targettest.Env(), map[string]string{"--audit-log-batch-buffer-size=10000": "--audit-log-batch-buffer-size=100"})
	a.stdout.reading.Lock()
	a.stderr.reading.Lock()
	missing := a.request(3000, "unread")
	a.stdout.reading.Unlock()
	a.stderr.reading.Unlock()
	if missing > 0 {
		t.Fatalf("%d requests wait for the reader of the log", missing)
	}
	dropped, events := a.metric(droppedEvents), a.metric("apiserver_audit_event_total")
	t.Logf("%v of %v events were dropped", dropped, events)
	if dropped < 1000 || dropped >= events {
		t.Errorf("of %v events, %v are counted as dropped", events, dropped)
	}
	a.request(1, "afterwards")
	a.stdout.has(t, `"requestURI":"/api/v1/namespaces/default/configmaps/afterwards"`)
	a.stderr.has(t, "audit buffer queue blocked")
	a.stderr.has(t, "lines are missing here, because this log was not read")
}

// receiver is the server of an audit webhook.
type receiver struct {
	*httptest.Server
	// answer is closed when requests are answered.
	answer chan struct{}
	mu     sync.Mutex
	uris   map[string]bool
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{answer: make(chan struct{}), uris: map[string]bool{}}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var list struct {
			Items []struct {
				RequestURI string `json:"requestURI"`
			} `json:"items"`
		}
		if err := json.NewDecoder(req.Body).Decode(&list); err != nil {
			t.Errorf("a request of the webhook cannot be read: %v", err)
		}
		r.mu.Lock()
		for _, event := range list.Items {
			r.uris[event.RequestURI] = true
		}
		r.mu.Unlock()
		select {
		case <-r.answer:
		case <-req.Context().Done():
		}
	}))
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

// use makes the control plane send its events to the receiver.
func (r *receiver) use(env *target.ControlPlane) {
	has(env, "copied-audit", auditWebhookKey, strings.NewReplacer(
		"https://127.0.0.1:1/", r.URL, "cluster: {server", fmt.Sprintf("cluster: {certificate-authority-data: %q, server",
			jsonBytes(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}))),
	).Replace(webhook))
	env.HCP.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "copied-audit"}
}

// jsonBytes encodes bytes as in a kubeconfig.
func jsonBytes(b []byte) string {
	text, _ := json.Marshal(b)
	return strings.Trim(string(text), `"`)
}

func TestAuditWebhookThatDoesNotRespondDoesNotBlockRequests(t *testing.T) {
	r := newReceiver(t)
	env := targettest.Env()
	r.use(env)
	a := startAudited(t, env, map[string]string{
		"--audit-webhook-batch-buffer-size=10000": "--audit-webhook-batch-buffer-size=100", "--audit-webhook-batch-max-size=400": "--audit-webhook-batch-max-size=10",
	})
	if missing := a.request(2000, "silent"); missing > 0 {
		t.Fatalf("%d requests wait for the audit webhook", missing)
	}
	if len(r.uris) == 0 {
		t.Error("the webhook has received nothing")
	}
	if dropped := a.metric(droppedEvents); dropped < 1000 {
		t.Errorf("%v events are counted as dropped", dropped)
	}
}

// The API server is stopped with events in both buffers: nothing reads the log, and a batch for the webhook waits for more events.
func TestShutdownWritesBufferedAuditEvents(t *testing.T) {
	const requests = 300
	r := newReceiver(t)
	close(r.answer)
	env := targettest.Env()
	r.use(env)
	a := startAudited(t, env, map[string]string{"--shutdown-delay-duration=15s": "--shutdown-delay-duration=1s"})
	a.stdout.reading.Lock()
	uri := func(n int) string { return fmt.Sprintf("/api/v1/namespaces/default/configmaps/last-%d", n) }
	for n := range requests {
		a.request(1, fmt.Sprintf("last-%d", n))
	}
	stopped := make(chan struct{})
	server := a.running[len(a.running)-1]
	go func() {
		defer close(stopped)
		server.Stop(45 * time.Second) // the grace period of the pod
	}()
	time.Sleep(2 * time.Second) // the shutdown has begun, with full buffers
	a.stdout.reading.Unlock()
	<-stopped
	if err := server.Err(); err != nil {
		t.Errorf("the API server was killed: %v", err)
	}
	_ = a.stdout.write.Close()
	<-a.stdout.ended
	_, filter, _ := readCollector(t)
	for line := range bytes.Lines(a.stdout.text.Bytes()) {
		if !filter["log"].Match(line) {
			t.Fatalf("a log collector does not recognize the event %s", line)
		}
	}
	for n := range requests {
		if !bytes.Contains(a.stdout.text.Bytes(), []byte(`"requestURI":"`+uri(n)+`"`)) {
			t.Fatalf("the log has no event of request %d", n)
		}
		if !r.uris[uri(n)] {
			t.Fatalf("the webhook has no event of request %d", n)
		}
	}
}

// A buffer is limited by the number of events only. Without a limit for one event, objects of 1.5 MiB would fill the memory of the node.
func TestFullAuditBufferHasLimitedMemory(t *testing.T) {
	const events, most = 500, 400 << 20
	env := targettest.Env()
	env.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &configv1.APIServerSpec{Audit: configv1.Audit{Profile: configv1.AllRequestBodiesAuditProfileType}}}
	a := startAudited(t, env, map[string]string{"--audit-log-batch-buffer-size=2500": fmt.Sprintf("--audit-log-batch-buffer-size=%d", events)})
	for name, size := range map[string]int{"large": 900 << 10, "below": maxAuditEvent - 4<<10} {
		_, err := a.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"text": strings.Repeat("x", size)},
		}, metav1.CreateOptions{})
		a.must(err)
	}
	a.request(50, "large") // grows the heap for such responses
	a.stdout.has(t, `"audit.k8s.io/truncated":"true"`)
	before := a.metric("process_resident_memory_bytes")
	for _, name := range []string{"below", "large"} {
		a.stdout.reading.Lock()
		dropped := a.metric(droppedEvents)
		missing := a.request(events+200, name)
		grown := a.metric("process_resident_memory_bytes") - before
		dropped = a.metric(droppedEvents) - dropped
		a.stdout.reading.Unlock()
		t.Logf("after events of the object %q: %.0f MiB more, %v dropped", name, grown/(1<<20), dropped)
		if missing > 0 || dropped == 0 {
			t.Fatalf("%d requests wait, %v events were dropped", missing, dropped)
		}
		if grown > most {
			t.Errorf("%d events use %.0f MiB", events, grown/(1<<20))
		}
		// Events are dropped until the buffer has been written.
		a.stdout.hasAfter(t, "configmaps/empty-after-"+name+`"`, func() { a.request(1, "empty-after-"+name) })
	}
}

// Otherwise a client hides a request from the audit log with a long URI.
func TestEventThatIsTooLargeIsInTheLogOfErrors(t *testing.T) {
	a := startAudited(t, targettest.Env(), nil)
	uri := "/api/v1/namespaces/kube-system/secrets?fieldSelector=" + strings.Repeat("%26", maxAuditEvent/3)
	_, err := a.Discovery().RESTClient().Get().RequestURI(uri).DoRaw(t.Context())
	t.Logf("the request: %.100v", err)
	a.stderr.has(t, "event is too large even after truncating")
	a.stderr.has(t, `uri="/api/v1/namespaces/kube-system/secrets?fieldSelector=`)
	if got := a.metric(`apiserver_audit_error_total{plugin="truncate"}`); got != 1 {
		t.Errorf("%v events are counted as too large", got)
	}
}

// The memory limit of the API server is 64 times its request, 11 GiB.
func TestAuditLimitsFitIntoMemory(t *testing.T) {
	const limit = 64 * 180 << 20
	group := func(p configv1.AuditProfileType) configv1.Audit {
		return configv1.Audit{CustomRules: []configv1.AuditCustomRule{{Group: "robots", Profile: p}}}
	}
	for name, c := range map[string]struct {
		audit  configv1.Audit
		bodies bool
	}{
		"the default":                      {configv1.Audit{}, false},
		"no log":                           {configv1.Audit{Profile: configv1.NoneAuditProfileType}, false},
		"a group that is not logged":       {group(configv1.NoneAuditProfileType), false},
		"bodies of writes":                 {configv1.Audit{Profile: configv1.WriteRequestBodiesAuditProfileType}, true},
		"all bodies":                       {configv1.Audit{Profile: configv1.AllRequestBodiesAuditProfileType}, true},
		"all bodies of one group of users": {group(configv1.AllRequestBodiesAuditProfileType), true},
	} {
		got := limitsOf(c.audit)
		if bodies := got.buffer < limitsOf(configv1.Audit{}).buffer; bodies != c.bodies {
			t.Errorf("%s: %+v", name, got)
		}
		const held = 190 // seconds, see auditLimits.batch
		if most := (2*got.buffer + held*got.batch) * maxAuditEvent; most > limit {
			t.Errorf("%s: up to %d MiB", name, most>>20)
		}
		if bodies := 2 * got.buffer * maxAuditEvent; c.bodies && bodies > 512<<20 {
			t.Errorf("%s: the buffers have up to %d MiB", name, bodies>>20)
		}
	}
	if !slices.Contains(bounded("log", auditLimits{}), "--audit-log-mode=batch") {
		t.Error("requests wait for the log")
	}
}
