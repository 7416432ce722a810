package kubeapiserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/konnectivityagent"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

// A tunnel is a control plane with a node that is reached through a Konnectivity agent. The node's kubelet serves logs without end.
type tunnel struct {
	*controlPlane
	// metrics are the addresses of the metrics of both ends.
	metrics map[string]string
	// streams is the number of logs that the kubelet serves.
	streams atomic.Int64
}

func startTunnel(t *testing.T) *tunnel {
	t.Helper()
	env := targettest.Env()
	env.HCP.Status.KubeletVerification = "" // the kubelet of this test uses its own certificate
	w := &tunnel{controlPlane: startControlPlane(t, env), metrics: map[string]string{}}
	programs, err := pinned.Ensure(t.Context(), os.Stderr, "proxy-server", "proxy-agent")
	w.must(err)
	agents := w.startServer(programs["proxy-server"])
	w.startAgent(programs["proxy-agent"], agents)
	w.addNode()
	return w
}

// startServer runs the second container of the API server's pod, and returns its address for agents.
func (w *tunnel) startServer(program string) string {
	w.t.Helper()
	objs, err := component.Render(Component, w.env)
	w.must(err)
	agents, health := w.free(), w.free()
	w.metrics["server"] = w.free()
	for flag, address := range map[string]string{"--agent-port=8091": agents, "--health-port=8092": health, "--admin-port=8093": w.metrics["server"]} {
		w.replace[flag] = strings.TrimRight(flag, "0123456789") + portOf(address)
	}
	pod := podOf(objs)
	p := w.runContainer(objs, *component.Container(&pod, names.KonnectivityServerImage), program, Component.Name, nil)
	w.ready(p, "http://"+health+"/healthz", http.DefaultClient)
	return agents
}

// startAgent runs the agent of the node, and waits until it is connected.
func (w *tunnel) startAgent(program, server string) {
	w.t.Helper()
	port, err := strconv.Atoi(portOf(server))
	w.must(err)
	hosted := targettest.HostedCluster()
	hosted.Konnectivity = target.FactOf(target.Host{Name: "localhost", Port: int32(port)}, nil)
	hosted.KonnectivityCertificate = target.FactOf(w.env.Secrets[names.KonnectivityAgentCertificate].Data, nil)
	objs, err := component.Render(konnectivityagent.Component, hosted)
	w.must(err)
	dir := w.t.TempDir()
	for name, content := range w.env.Secrets[names.KonnectivityAgentCertificate].Data {
		w.must(os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	health := w.free()
	w.metrics["agent"] = w.free()
	local := strings.NewReplacer("/etc/konnectivity/", dir+"/", "$(HOST_IP)", "127.0.0.1",
		"--health-server-port=2041", "--health-server-port="+portOf(health), "--admin-server-port=2042", "--admin-server-port="+portOf(w.metrics["agent"]))
	var args []string
	for _, arg := range objs[len(objs)-1].(*appsv1.DaemonSet).Spec.Template.Spec.Containers[0].Args {
		args = append(args, local.Replace(arg))
	}
	p, err := process.Start(process.Spec{Name: konnectivityagent.Component.Name, Path: program, Args: args, Log: w.log("agent")})
	w.must(err)
	w.running = append(w.running, p)
	w.ready(p, "http://"+health+"/readyz", http.DefaultClient)
}

// addNode creates the node, and a pod on it.
func (w *tunnel) addNode() {
	w.t.Helper()
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/containerLogs/") {
			http.NotFound(rw, r)
			return
		}
		w.streams.Add(1)
		defer w.streams.Add(-1)
		every := time.NewTicker(10 * time.Millisecond)
		defer every.Stop()
		for {
			if _, err := fmt.Fprintln(rw, "a line of a log"); err != nil {
				return
			}
			_ = http.NewResponseController(rw).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-every.C:
			}
		}
	}))
	w.t.Cleanup(kubelet.CloseClientConnections)
	ctx := w.t.Context()
	node, err := w.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}, metav1.CreateOptions{})
	w.must(err)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(kubelet.Listener.Addr().(*net.TCPAddr).Port)
	_, err = w.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	w.must(err)
	_, err = w.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "talker"},
		Spec:       corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{Name: "talker", Image: "talker"}}},
	}, metav1.CreateOptions{})
	w.must(err)
}

// follow reads the first line of the pod's log, and then interrupts it like a user.
func (w *tunnel) follow() error {
	ctx, interrupt := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer interrupt()
	log, err := w.CoreV1().Pods("default").GetLogs("talker", &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	if line, err := bufio.NewReader(log).ReadString('\n'); err != nil || line != "a line of a log\n" {
		return fmt.Errorf("the log begins with %q: %w", line, err)
	}
	return nil
}

// open returns the open resources of the tunnel: goroutines and files of both ends, files of the API server, and logs of the kubelet.
func (w *tunnel) open() (map[string]int, error) {
	open := map[string]int{"logs of the kubelet": int(w.streams.Load())}
	for end, address := range w.metrics {
		text, err := get(w.t.Context(), "http://"+address+"/metrics")
		if err != nil {
			return nil, err
		}
		read(open, end, text)
	}
	text, err := w.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(w.t.Context())
	read(open, "API server", string(text))
	return open, err
}

// read adds the metrics of one program.
func read(open map[string]int, program, text string) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "go_goroutines", "process_open_fds":
			n, _ := strconv.Atoi(value)
			open[name+" of the "+program] = n
		}
	}
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// Logs that users interrupt have leaked connections in other systems, until no log could be read any more.
func TestInterruptedLogsLeaveNothingOpen(t *testing.T) {
	const users, logs = 20, 15
	// slack is for resources that do not grow with the number of logs: kept connections, the workers of HTTP/2.
	const slack = users
	w := startTunnel(t)
	w.must(w.follow()) // the first one opens connections that are kept
	before, err := w.open()
	w.must(err)
	t.Logf("open before: %v", before)
	if len(before) != 7 {
		t.Fatalf("metrics are missing: %v", before)
	}
	var all sync.WaitGroup
	for range users {
		all.Go(func() {
			for range logs {
				if err := w.follow(); err != nil {
					t.Errorf("a log cannot be read: %v", err)
				}
			}
		})
	}
	all.Wait()
	start := time.Now()
	w.must(w.follow())
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("after %d interrupted logs, the next one took %s", users*logs, took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var grown []string
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) {
		after, err := w.open()
		if err != nil {
			return false, err
		}
		grown = nil
		for what, n := range after {
			if n > before[what]+slack || what == "logs of the kubelet" && n > 0 {
				grown = append(grown, fmt.Sprintf("%s: %d, and %d before", what, n, before[what]))
			}
		}
		return len(grown) == 0, nil
	})
	after, err := w.open()
	w.must(err)
	t.Logf("open after: %v", after)
	if len(grown) > 0 {
		t.Errorf("after %d interrupted logs, there are still: %s", users*logs, strings.Join(grown, "; "))
	}
}
