package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// largeNodes is the number of nodes of the large cluster. Kubernetes is tested with its objectives up to 5,000
// (https://kubernetes.io/docs/setup/best-practices/cluster-large/), which is more than a machine of two cores can run: they renew 125 Leases a
// second at least, or they are NotReady, and each took 7 ms of CPU of this machine, with all that watches it.
var largeNodes = flag.Int("nodes", 1000, "how many nodes the section \"large cluster\" has")

// podsPerNode is a third of what is allowed for 5,000 nodes. Those of DaemonSets are among them.
const podsPerNode = 10

func largePods() int { return *largeNodes * podsPerNode }

// largeRequests are what docs/operations.md recommends for a cluster of this size.
const largeRequests = `  annotations:
    resource-request-override.hypershift.openshift.io/kube-apiserver.kube-apiserver: memory=3Gi
    resource-request-override.hypershift.openshift.io/kube-controller-manager.kube-controller-manager: memory=1Gi
    resource-request-override.hypershift.openshift.io/kube-scheduler.kube-scheduler: memory=1Gi
    resource-request-override.hypershift.openshift.io/etcd.etcd: memory=1Gi
`

// kwokNode is the label and the taint of nodes that kwok pretends to be. Only DaemonSets have pods there without naming the node.
const kwokNode = "kwok.x-k8s.io/node"

// largeResult is what one large cluster has cost.
type largeResult struct {
	count       float64 // of nodes
	nodes, pods float64 // seconds until all nodes were Ready, and then until all pods ran
	rested
	apiLatency
}

// largeCluster measures a hosted cluster with many nodes and pods, of which one node is real.
func largeCluster(ctx context.Context, l *labBench) ([]report.Row, error) {
	const network = "- cidr: 10.132.0.0/14\n" // has 8,192 ranges of 32 addresses
	const header = "kind: HostedCluster\nmetadata:\n"
	hc, hosted, err := l.loaded(ctx, map[string]string{network: network + "      hostPrefix: 27\n", header: header + largeRequests})
	if err != nil {
		return nil, err
	}
	kwok, err := l.startKwok(ctx, hc)
	if err != nil {
		return nil, err
	}
	defer kwok.Stop(10 * time.Second)
	result, err := l.grow(ctx, hc, hosted)
	if err != nil {
		return nil, err
	}
	return largeClusterRows([]largeResult{*result}), l.end(ctx, []client.ObjectKey{client.ObjectKeyFromObject(hc)}, &labLife{})
}

// kwokOptions let kwok write more objects at the same time than the four that it writes by default: each write waits for etcd.
const kwokOptions = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 32
  nodePlayStageParallelism: 32
  nodeLeaseParallelism: 32
  podsOnNodeSyncParallelism: 32
`

// startKwok starts the program that reports pods as running, and renews the Leases of nodes every 30 s. Kubelets do that every 10 s, which
// would leave a machine of two cores no time for anything else.
func (b *labBench) startKwok(ctx context.Context, hc *hyperv1.HostedCluster) (*process.Process, error) {
	programs, err := pinned.Ensure(ctx, os.Stderr, "kwok")
	if err != nil {
		return nil, err
	}
	source, err := pinned.Source(ctx, "kwok")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := b.AdminKubeconfig(ctx, client.ObjectKeyFromObject(hc))
	if err != nil {
		return nil, err
	}
	args := []string{"--kubeconfig=" + kubeconfig, "--manage-nodes-with-label-selector=" + kwokNode + "=fake", "--node-lease-duration-seconds=120"}
	options := filepath.Join(b.Dir, "kwok.yaml")
	if err := os.WriteFile(options, []byte(kwokOptions), 0o644); err != nil {
		return nil, fmt.Errorf("writing the options of kwok: %w", err)
	}
	args = append(args, "--config="+options)
	for _, stage := range []string{"node/fast/node-initialize", "node/heartbeat-with-lease/node-heartbeat-with-lease", "pod/fast/pod-ready", "pod/fast/pod-complete", "pod/fast/pod-delete"} {
		args = append(args, "--config="+filepath.Join(source, "kustomize", "stage", stage+".yaml"))
	}
	return process.Start(process.Spec{Name: "kwok", Path: programs["kwok"], Args: args, Log: filepath.Join(b.Dir, "logs", "kwok.log")})
}

// grow creates nodes and pods, and measures the cluster when nothing changes any more.
func (b *labBench) grow(ctx context.Context, hc *hyperv1.HostedCluster, hosted client.Client) (*largeResult, error) {
	result := &largeResult{count: float64(*largeNodes)}
	began := time.Now()
	if err := each(ctx, numbers(*largeNodes), func(ctx context.Context, i int) error { return hosted.Create(ctx, fakeNode(i)) }); err != nil {
		return nil, fmt.Errorf("creating nodes: %w", err)
	}
	if err := poll(ctx, 5*time.Second, 20*time.Minute, func(ctx context.Context) (bool, error) { return daemonsEverywhere(ctx, hosted) }); err != nil {
		return nil, fmt.Errorf("waiting for the nodes and their DaemonSets: %w", err)
	}
	result.nodes = time.Since(began).Seconds()

	began = time.Now()
	if err := largeNamespace(ctx, hosted); err != nil {
		return nil, err
	}
	daemons, err := countPods(ctx, hosted)
	if err != nil {
		return nil, err
	}
	if err := each(ctx, numbers(largePods()-daemons), func(ctx context.Context, i int) error { return hosted.Create(ctx, fakePod(i)) }); err != nil {
		return nil, fmt.Errorf("creating pods: %w", err)
	}
	if err := poll(ctx, 5*time.Second, 20*time.Minute, func(ctx context.Context) (bool, error) { return allRun(ctx, hosted) }); err != nil {
		return nil, fmt.Errorf("waiting for the pods: %w", err)
	}
	result.pods = time.Since(began).Seconds()
	fmt.Fprintf(os.Stderr, "%d nodes and %d pods, of which %d are of DaemonSets and the load, after %.0f s and %.0f s\n", *largeNodes, largePods(), daemons, result.nodes, result.pods)
	if result.rested, err = b.rest(ctx, client.ObjectKeyFromObject(hc)); err != nil {
		return nil, err
	}
	paths, err := b.apiPaths(ctx, client.ObjectKeyFromObject(hc))
	if err != nil {
		return nil, err
	}
	latency, err := measurePaths(ctx, paths, hosted)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, latency)
	result.apiLatency = *latency
	return result, nil
}

// numbers are those from 0 to n-1.
func numbers(n int) []int {
	all := make([]int, max(n, 0))
	for i := range all {
		all[i] = i
	}
	return all
}

func fakeNodeName(i int) string { return fmt.Sprintf("fake-%04d", i%*largeNodes) }

// fakeNode is Ready from the start, and its provider is unknown to the cloud-controller-manager, which would delete a node without an instance.
func fakeNode(i int) *corev1.Node {
	capacity := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"), corev1.ResourcePods: resource.MustParse("110")}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fakeNodeName(i), Labels: map[string]string{
			kwokNode: "fake", corev1.LabelHostname: fakeNodeName(i), corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Spec: corev1.NodeSpec{ProviderID: "kwok://" + fakeNodeName(i), Taints: []corev1.Taint{{Key: kwokNode, Value: "fake", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("198.18.%d.%d", i/250, 1+i%250)}, {Type: corev1.NodeHostName, Address: fakeNodeName(i)}},
		},
	}
}

// largePodsNamespace is the namespace of the pods that name a node of kwok.
const largePodsNamespace = loadNamespace + "-large"

// largeNamespace creates it, and waits until pods can be created there.
func largeNamespace(ctx context.Context, hosted client.Client) error {
	if err := hosted.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: largePodsNamespace}}); err != nil {
		return fmt.Errorf("creating the namespace of the pods: %w", err)
	}
	return poll(ctx, time.Second, 5*time.Minute, func(ctx context.Context) (bool, error) {
		err := hosted.Get(ctx, client.ObjectKey{Namespace: largePodsNamespace, Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// fakePod names its node, so that the speed of the scheduler does not matter.
func fakePod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: largePodsNamespace, Name: fmt.Sprintf("fake-%05d", i), Labels: map[string]string{"app": "fake"}},
		Spec: corev1.PodSpec{
			NodeName: fakeNodeName(i), AutomountServiceAccountToken: new(bool), TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{Name: "fake", Image: "fake", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}}},
		},
	}
}

// daemonsEverywhere reports whether each DaemonSet has a ready pod on all nodes.
func daemonsEverywhere(ctx context.Context, hosted client.Client) (bool, error) {
	sets := &appsv1.DaemonSetList{}
	if err := hosted.List(ctx, sets, client.InNamespace(metav1.NamespaceSystem)); err != nil {
		return false, err
	}
	for _, s := range sets.Items {
		if int(s.Status.DesiredNumberScheduled) < *largeNodes || s.Status.NumberReady < s.Status.DesiredNumberScheduled {
			return false, nil
		}
	}
	return len(sets.Items) > 0, nil
}

// countPods is the number of pods of the hosted cluster.
func countPods(ctx context.Context, hosted client.Client) (int, error) {
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	err := hosted.List(ctx, pods)
	return len(pods.Items), err
}

// allRun reports whether all pods run that name a node.
func allRun(ctx context.Context, hosted client.Client) (bool, error) {
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	err := hosted.List(ctx, pods, client.InNamespace(largePodsNamespace), client.MatchingFields{"status.phase": string(corev1.PodPending)})
	return len(pods.Items) == 0, err
}

func largeClusterRows(all []largeResult) []report.Row {
	latest := last(all)
	row := report.Row{
		What: "a hosted cluster with many nodes, and ten pods on each",
		Note: "one API server and one member of etcd. All nodes but one are those of kwok, which renews their Leases every 30 s; `-nodes` sets their number. Pods name their nodes. At rest for a minute; " +
			"then the requests of \"API under load\". 1 s is the objective of Kubernetes for a request of one object " +
			"(https://github.com/kubernetes/community/blob/master/sig-scalability/slos/api_call_latency.md). kwok and the client take CPU of the same machine",
		Figures: []report.Figure{
			report.Within("latency of a get through load balancer and router, 99th percentile", 1000, "ms", values(all, func(r largeResult) float64 { return r.p99() })...),
			report.Within("control-plane-operator: memory", 150, "MiB", values(all, func(r largeResult) float64 { return r.memory[names.ControlPlaneOperator] })...),
			report.Info("nodes", "", values(all, func(r largeResult) float64 { return r.count })...),
			report.Info("memory of all pods", "MiB", values(all, func(r largeResult) float64 { return sum(r.memory) })...),
			report.Info("CPU of all pods", "% of a core", values(all, func(r largeResult) float64 { return sum(r.cpu) })...),
			report.Info("tunnel to the real node, through load balancer and router", "MiB/s", values(all, func(r largeResult) float64 { return median(r.Throughput[byBalancer]) })...).HigherIsBetter(),
			report.Info("until all nodes are Ready, with their DaemonSets", "s", values(all, func(r largeResult) float64 { return r.nodes })...),
			report.Info("then until all pods run", "s", values(all, func(r largeResult) float64 { return r.pods })...),
		},
	}
	if len(all) > 0 {
		row.Figures[0] = row.Figures[0].WithDetail("%s", latest.apiLatency)
		row.Figures[3] = row.Figures[3].WithDetail("%s", latest.detail("%.0f", latest.memory))
		row.Figures[4] = row.Figures[4].WithDetail("%s", latest.detail("%.2f", latest.cpu))
	}
	return []report.Row{row}
}
