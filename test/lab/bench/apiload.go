package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	"github.com/hosted-control-planes/hypershift/test/lab/disruption"
	"github.com/hosted-control-planes/hypershift/test/lab/load"
)

const (
	// listedPods is the number of Pod objects in a list. They have no node.
	listedPods = 1000
	// loadNamespace is their namespace.
	loadNamespace = "load"
	// talker is a pod on a node. Its log and commands are requested.
	talker = "talker"
	// logLines is the number of lines in its log.
	logLines = 200
	// throughput is the size of a command's output through the tunnel, in bytes.
	throughput = 32 << 20
)

// The paths of requests, from the longest to the shortest. Each one leaves out one more part.
const (
	byBalancer = iota
	byRouter
	byAPIServer
	paths
)

// requestKinds are the kinds of requests, and how often each is made on each path. A command starts a process on a node.
var requestKinds = []struct {
	name  string
	count int
	make  func(*apiPath, context.Context) error
}{
	{"get", 1000, (*apiPath).get},
	{"list of 1,000 pods", 60, (*apiPath).list},
	{"logs", 200, (*apiPath).logs},
	{"exec", 60, (*apiPath).echo},
}

// watched is the kind of the events of a watch, from the create to the event.
const watched = "event of a watch"

// latencies are the latencies of one kind of request in milliseconds, by path, in the order of requests.
type latencies [paths][]float64

// percentile is the sample below which that share of all samples is.
func percentile(samples []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

func (l latencies) String() string {
	var all []string
	for i, name := range []string{"load balancer and router", "router alone", "API server alone"} {
		all = append(all, fmt.Sprintf("%s %s/%s/%s ms", name, report.Number(percentile(l[i], 0.5)), report.Number(percentile(l[i], 0.9)), report.Number(percentile(l[i], 0.99))))
	}
	return strings.Join(all, ", ")
}

// apiLatency is the result of the section: latencies by kind of request, and MiB per second of the tunnel by path.
type apiLatency struct {
	Kinds      map[string]latencies
	Throughput [paths][]float64
}

// routerShare is the part of the router in the time of one request of each kind, in percent: the median with the router minus the one
// without it, as a share of the median through the load balancer too.
func (a apiLatency) routerShare() float64 {
	router, whole := 0.0, 0.0
	for _, l := range a.Kinds {
		router += percentile(l[byRouter], 0.5) - percentile(l[byAPIServer], 0.5)
		whole += percentile(l[byBalancer], 0.5)
	}
	return 100 * router / whole
}

func (a apiLatency) p99() float64 { return percentile(a.Kinds["get"][byBalancer], 0.99) }

func (a apiLatency) String() string {
	var all []string
	for _, kind := range requestKinds {
		all = append(all, kind.name+": "+a.Kinds[kind.name].String())
	}
	all = append(all, watched+": "+a.Kinds[watched].String())
	return "50th/90th/99th percentile: " + strings.Join(all, "; ")
}

// apiUnderLoad measures requests through load balancer and router, and with each the same request on the shorter paths.
func apiUnderLoad(ctx context.Context, l *labBench) ([]report.Row, error) {
	hc, hosted, err := l.loaded(ctx, nil)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(hc)
	all, err := l.apiPaths(ctx, key)
	if err != nil {
		return nil, err
	}
	// The load of other users: 40 reads a second.
	kubeconfig, err := l.AdminKubeconfig(ctx, key)
	if err != nil {
		return nil, err
	}
	others, err := load.Start(ctx, kubeconfig)
	if err != nil {
		return nil, err
	}
	defer others.Stop()
	result, err := measurePaths(ctx, all, hosted)
	if err != nil {
		return nil, err
	}
	if c := others.Count(); c.Failed > 0 {
		return nil, fmt.Errorf("requests of other users failed: %s", c)
	}
	others.Stop()
	fmt.Fprintln(os.Stderr, result)
	return apiUnderLoadRows([]apiLatency{*result}), l.end(ctx, []client.ObjectKey{key}, &labLife{})
}

// loaded creates a cluster with a node and with the objects that are requested. The edits replace texts of its sample.
func (b *labBench) loaded(ctx context.Context, edits map[string]string) (*hyperv1.HostedCluster, client.Client, error) {
	hc, customer, err := b.single(ctx, edits)
	if err != nil {
		return nil, nil, err
	}
	pool := newPool(hc, customer, hc.Name+"-load")
	pool.Spec.Platform.AWS.AMI = awsemulator.ImageAMD64WithKubelet
	if err := b.management.Create(ctx, pool); err != nil {
		return nil, nil, err
	}
	hosted, err := b.hosted(ctx, hc)
	if err != nil {
		return nil, nil, err
	}
	return hc, hosted, createLoad(ctx, hosted, b.Images["busybox"])
}

func apiUnderLoadRows(all []apiLatency) []report.Row {
	latest := last(all)
	row := report.Row{
		What: "API under load",
		Note: "one API server and one router; 40 reads a second of others meanwhile. Each request is made on three paths in one run, alternating: through load balancer and " +
			"router, from the pod of the router on, and at the pod of the API server. The share is that of the medians of one request of each kind",
		Figures: []report.Figure{
			report.Info("latency through load balancer and router, 99th percentile", "ms", values(all, apiLatency.p99)...),
			report.Within("share of the router in it", 5, "%", values(all, apiLatency.routerShare)...).
				WhatWasTried("nothing yet. HAProxy forwards TLS without decrypting it, and adds one connection to each."),
			report.Info("tunnel to a node, through load balancer and router", "MiB/s", values(all, func(a apiLatency) float64 { return median(a.Throughput[byBalancer]) })...).HigherIsBetter(),
			report.Info("tunnel to a node, at the API server", "MiB/s", values(all, func(a apiLatency) float64 { return median(a.Throughput[byAPIServer]) })...).HigherIsBetter(),
		},
	}
	if len(all) > 0 {
		row.Figures[0] = row.Figures[0].WithDetail("of a get; %s", latest)
	}
	return []report.Row{row}
}

func median(samples []float64) float64 { return percentile(samples, 0.5) }

// createLoad creates the objects that are requested, and waits until the pod runs.
func createLoad(ctx context.Context, hosted client.Client, image string) error {
	if err := hosted.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: loadNamespace}}); err != nil {
		return fmt.Errorf("creating the namespace of the load: %w", err)
	}
	pod := func(namespace, name string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64),
				Containers: []corev1.Container{{
					Name: talker, Image: image,
					Command: []string{"sh", "-c", fmt.Sprintf("for i in $(seq %d); do echo this is line $i of the log of a pod; done; exec sleep 1000000", logLines)},
				}},
			},
		}
	}
	// A namespace has its service account some moments later.
	if err := disruption.WaitFor(ctx, "pods can be created", func(ctx context.Context) error {
		return hosted.Create(ctx, pod(metav1.NamespaceDefault, talker))
	}); err != nil {
		return err
	}
	if err := disruption.WaitFor(ctx, "a pod without a node can be created", func(ctx context.Context) error {
		first := pod(loadNamespace, "pod-0000")
		first.Spec.SchedulerName = "none"
		return hosted.Create(ctx, first)
	}); err != nil {
		return err
	}
	var numbers []int
	for i := range listedPods - 1 {
		numbers = append(numbers, i+1)
	}
	if err := each(ctx, numbers, func(ctx context.Context, i int) error {
		p := pod(loadNamespace, fmt.Sprintf("pod-%04d", i))
		p.Spec.SchedulerName = "none"
		return hosted.Create(ctx, p)
	}); err != nil {
		return fmt.Errorf("creating pods without a node: %w", err)
	}
	return disruption.WaitFor(ctx, "the pod runs", func(ctx context.Context) error {
		p := &corev1.Pod{}
		if err := hosted.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: talker}, p); err != nil {
			return err
		}
		if p.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("its phase is %s", p.Status.Phase)
		}
		return nil
	})
}

// apiPath is a way to the API server, with a connection that is kept.
type apiPath struct {
	host   string
	tls    *tls.Config
	client *http.Client
}

// apiPaths are the paths to the API server of a hosted cluster, with the credentials of its administrator.
func (b *labBench) apiPaths(ctx context.Context, hc client.ObjectKey) (all [paths]*apiPath, err error) {
	namespace := controlPlane(hc)
	balancer := b.balancer(ctx, client.ObjectKey{Namespace: namespace, Name: names.Router})
	router, err := b.podAddress(ctx, namespace, names.Router, "https")
	if err != nil {
		return all, err
	}
	apiServer, err := b.podAddress(ctx, namespace, names.KubeAPIServer, "client")
	if err != nil {
		return all, err
	}
	if balancer == "" {
		return all, fmt.Errorf("%s has no load balancer", hc)
	}
	text, err := userKubeconfig(ctx, b.management, hc, balancer)
	if err != nil {
		return all, err
	}
	file := filepath.Join(b.Dir, hc.Name+"-load.kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return all, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return all, fmt.Errorf("reading a kubeconfig: %w", err)
	}
	for i, host := range [paths]string{strings.TrimPrefix(config.Host, "https://"), router, apiServer} {
		if all[i], err = newAPIPath(config, "https://"+host); err != nil {
			return all, err
		}
	}
	return all, nil
}

func newAPIPath(config *rest.Config, host string) (*apiPath, error) {
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading credentials: %w", err)
	}
	plain := secure.Clone()
	plain.NextProtos = []string{"http/1.1"}
	transport := &http.Transport{TLSClientConfig: secure, ForceAttemptHTTP2: true}
	return &apiPath{host: host, tls: plain, client: &http.Client{Transport: transport}}, nil
}

// podAddress is the address of a named port of the first pod of a component.
func (b *labBench) podAddress(ctx context.Context, namespace, name, port string) (string, error) {
	pods := &corev1.PodList{}
	if err := b.management.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{component.ComponentLabel: name}); err != nil {
		return "", err
	}
	for _, p := range pods.Items {
		for _, c := range p.Spec.Containers {
			for _, named := range c.Ports {
				if named.Name == port && p.Status.PodIP != "" {
					return net.JoinHostPort(p.Status.PodIP, strconv.Itoa(int(named.ContainerPort))), nil
				}
			}
		}
	}
	return "", fmt.Errorf("no pod of %s in %s has an address and the port %s", name, namespace, port)
}

// measurePaths makes all requests on all paths in turn. hosted causes the events of watches.
func measurePaths(ctx context.Context, all [paths]*apiPath, hosted client.Client) (*apiLatency, error) {
	result := &apiLatency{Kinds: map[string]latencies{}}
	for _, kind := range requestKinds {
		measured, err := measureKind(ctx, kind.count, all, kind.make)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.name, err)
		}
		result.Kinds[kind.name] = measured
	}
	events, err := measureWatches(ctx, all, hosted)
	if err != nil {
		return nil, err
	}
	result.Kinds[watched] = events
	for round := range 5 {
		for i := range all {
			path := (i + round) % paths
			began := time.Now()
			if err := all[path].exec(ctx, throughput, "head", "-c", strconv.Itoa(throughput), "/dev/zero"); err != nil {
				return nil, fmt.Errorf("throughput: %w", err)
			}
			result.Throughput[path] = append(result.Throughput[path], throughput/(1<<20)/time.Since(began).Seconds())
		}
	}
	return result, nil
}

// warmUp is the number of rounds before those that are measured.
const warmUp = 3

// measureKind makes requests of one kind. Each round begins with another path, because the first request of a round may warm a cache
// for the others.
func measureKind(ctx context.Context, count int, all [paths]*apiPath, request func(*apiPath, context.Context) error) (l latencies, err error) {
	for round := range warmUp + count {
		for i := range all {
			path := (i + round) % paths
			began := time.Now()
			if err := request(all[path], ctx); err != nil {
				return l, err
			}
			if round >= warmUp {
				l[path] = append(l[path], float64(time.Since(began).Microseconds())/1000)
			}
		}
	}
	return l, nil
}

// read makes a request, and returns the number of bytes of its answer.
func (p *apiPath) read(ctx context.Context, path string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.host+path, nil)
	if err != nil {
		return 0, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return n, err
}

func (p *apiPath) get(ctx context.Context) error {
	_, err := p.read(ctx, "/api/v1/namespaces/"+metav1.NamespaceDefault)
	return err
}

func (p *apiPath) list(ctx context.Context) error {
	n, err := p.read(ctx, "/api/v1/namespaces/"+loadNamespace+"/pods?resourceVersion=0")
	if err == nil && n < 100*listedPods {
		err = fmt.Errorf("the list has only %d bytes", n)
	}
	return err
}

func (p *apiPath) logs(ctx context.Context) error {
	n, err := p.read(ctx, "/api/v1/namespaces/"+metav1.NamespaceDefault+"/pods/"+talker+"/log")
	if err == nil && n < 20*logLines {
		err = fmt.Errorf("the log has only %d bytes", n)
	}
	return err
}

func (p *apiPath) echo(ctx context.Context) error { return p.exec(ctx, len("1\n"), "echo", "1") }

// exec runs a command in the pod, and waits until it has sent that many bytes and has ended.
func (p *apiPath) exec(ctx context.Context, bytes int, command ...string) error {
	target, err := url.Parse(p.host)
	if err != nil {
		return err
	}
	target.Scheme, target.Path = "wss", "/api/v1/namespaces/"+metav1.NamespaceDefault+"/pods/"+talker+"/exec"
	target.RawQuery = url.Values{"stdout": {"true"}, "container": {talker}, "command": command}.Encode()
	conn, err := (&websocket.Config{
		Location: target, Origin: &url.URL{Scheme: "https", Host: target.Host}, Version: websocket.ProtocolVersionHybi13,
		Protocol: []string{"v4.channel.k8s.io"}, TlsConfig: p.tls,
	}).DialContext(ctx)
	if err != nil {
		return fmt.Errorf("running %v: %w", command, err)
	}
	defer func() { _ = conn.Close() }()
	return readOutput(conn, bytes)
}

// readOutput reads the messages of a command: their first byte is the number of a channel. The command must succeed.
func readOutput(conn *websocket.Conn, want int) error {
	const stdout, status = 1, 3
	got := 0
	for {
		var message []byte
		if err := websocket.Message.Receive(conn, &message); err != nil {
			return fmt.Errorf("a command has sent %d of %d bytes: %w", got, want, err)
		}
		if len(message) == 0 {
			continue
		}
		switch message[0] {
		case stdout:
			got += len(message) - 1
		case status:
			if got != want || !bytes.Contains(message, []byte(`"`+metav1.StatusSuccess+`"`)) {
				return fmt.Errorf("a command has sent %d of %d bytes: %s", got, want, message[1:])
			}
			return nil
		}
	}
}

// watchedEvents is the number of measured events of a watch.
const watchedEvents = 200

// arrival is an event of a watch.
type arrival struct {
	path int
	name string
	at   time.Time
	err  error
}

// watch sends the events of ConfigMaps, and at last the error with which the watch has ended. It ends with ctx.
func (p *apiPath) watch(ctx context.Context, path int, arrived chan<- arrival) {
	send := func(a arrival) {
		select {
		case arrived <- a:
		case <-ctx.Done():
		}
	}
	err := p.events(ctx, func(name string) { send(arrival{path: path, name: name, at: time.Now()}) })
	send(arrival{path: path, err: err})
}

// events calls found with the name of each ConfigMap that exists or is created, until the watch ends.
func (p *apiPath) events(ctx context.Context, found func(name string)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.host+"/api/v1/namespaces/"+loadNamespace+"/configmaps?watch=true&resourceVersion=0", nil)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	for events := json.NewDecoder(resp.Body); ; {
		var event struct {
			Object metav1.PartialObjectMetadata `json:"object"`
		}
		if err := events.Decode(&event); err != nil {
			return err
		}
		found(event.Object.Name)
	}
}

// measureWatches measures the time from a create to its event, on all paths at the same time.
func measureWatches(ctx context.Context, all [paths]*apiPath, hosted client.Client) (l latencies, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	arrived := make(chan arrival)
	for i, p := range all {
		go p.watch(ctx, i, arrived)
	}
	for round := range warmUp + watchedEvents {
		name := fmt.Sprintf("event-%d", round)
		began, created := time.Now(), make(chan error, 1)
		go func() {
			created <- hosted.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: loadNamespace, Name: name}})
		}()
		for missing := paths; missing > 0; {
			select {
			case <-ctx.Done():
				return l, context.Cause(ctx)
			case <-time.After(patience):
				return l, fmt.Errorf("%d watches have no event of %s after %s", missing, name, patience)
			case a := <-arrived:
				if a.err != nil {
					return l, fmt.Errorf("a watch has ended: %w", a.err)
				}
				if a.name != name {
					continue // an older object
				}
				missing--
				if round >= warmUp {
					l[a.path] = append(l[a.path], float64(a.at.Sub(began).Microseconds())/1000)
				}
			}
		}
		if err := <-created; err != nil {
			return l, fmt.Errorf("causing an event: %w", err)
		}
	}
	return l, nil
}
