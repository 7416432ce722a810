//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
	"github.com/hosted-control-planes/hypershift/test/lab/networkpolicy"
)

// quickened shortens the durations in the expressions of the alerts, so that a fault of seconds makes them fire.
var quickened = strings.NewReplacer(
	"[10m]", "[1m]", "[15m]", "[1m]", // rates
	"> 1800", "> 20", "> 3600", "> 20", "24 * 3600", "20", // durations of rollouts and deletions, the age of snapshots
)

// TestAlerts makes every alert fire by a fault in a cluster, and clear by its repair. A real Prometheus scrapes the operators.
func TestAlerts(t *testing.T) {
	begin(t)
	h := newHosted(t, "alerts", on.Versions[0])
	_, err := on.Upgrade(t.Context(), "--reuse-values", "--set", "monitoring.readers[0].namespace="+monitoringNamespace, "--set", "monitoring.readers[0].name=prometheus")
	h.must(err)
	t.Cleanup(func() { h.must(on.Install(context.WithoutCancel(t.Context()))) })
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	h.hc.Spec.Etcd.Managed.Storage.PersistentVolume.Size = ptr.To(resource.MustParse("200Mi")) // a database of 40 MiB
	a := &alerts{hosted: h}
	a.sendAudit()
	h.eventually("the operator has a certificate for Prometheus", func(ctx context.Context) error {
		return h.management.Get(ctx, client.ObjectKey{Namespace: hosting.Namespace, Name: "hypershift-metrics-client"}, &corev1.Secret{})
	})
	a.prometheus = startPrometheus(t, h.management, quickened)
	t.Cleanup(a.log)

	h.hc.Spec.NodeSelector = nowhere
	h.create()
	a.fires("HypershiftClusterDoesNotComeUp", a.cluster())
	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.NodeSelector = nil })
	pool := h.nodePool("alerts", 1) // PrivateLink needs its subnet
	h.must(h.management.Create(t.Context(), pool))
	a.fires("HypershiftNodesMissing", map[string]string{"namespace": pool.Namespace, "name": pool.Name, "cluster_name": h.hc.Name})
	h.available()
	a.clears("HypershiftClusterDoesNotComeUp")
	h.eventually("the machine is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	a.clears("HypershiftNodesMissing")

	a.snapshots()
	a.nodes()
	a.slowServer()
	a.unavailable()
	a.certificates()
	a.controlPlaneOperator()
	a.audits.deaf.Store(true)
	a.operatorDown()
	a.auditEvents()
	a.deletion()

	for _, rule := range a.rules {
		if !slices.Contains(a.cleared, rule) {
			t.Errorf("%s was not seen firing and clearing", rule)
		}
	}
}

// alerts is the cluster of the scenario, and the Prometheus that watches it.
type alerts struct {
	*hosted
	*prometheus
	cleared []string
	// audits is the server of the audit webhook. It refuses events while deaf.
	audits struct {
		deaf     atomic.Bool
		received atomic.Int64
	}
}

// cluster are the labels of metrics of the hypershift-operator.
func (a *alerts) cluster() map[string]string {
	return map[string]string{"namespace": a.hc.Namespace, "name": a.hc.Name}
}

// plane are the labels of metrics of the control-plane-operator.
func (a *alerts) plane() map[string]string {
	return map[string]string{"namespace": a.namespace(), "name": a.hc.Name}
}

func (a *alerts) fires(alert string, labels map[string]string) {
	a.hosted.t.Helper()
	started := time.Now()
	a.eventually(alert+" fires", func(ctx context.Context) error { return a.expectFiring(ctx, alert, labels) })
	a.hosted.t.Logf("%5.1f s  %s fires", time.Since(started).Seconds(), alert)
}

func (a *alerts) clears(alert string) {
	a.hosted.t.Helper()
	started := time.Now()
	a.eventually(alert+" clears", func(ctx context.Context) error { return a.expectQuiet(ctx, alert) })
	a.hosted.t.Logf("%5.1f s  %s clears", time.Since(started).Seconds(), alert)
	a.cleared = append(a.cleared, alert)
}

// log logs the targets of Prometheus that it cannot scrape if the scenario has failed.
func (a *alerts) log() {
	if !a.hosted.t.Failed() {
		return
	}
	var answer struct {
		Data struct {
			ActiveTargets []struct {
				ScrapePool, ScrapeURL, LastError string
			} `json:"activeTargets"`
		} `json:"data"`
	}
	err := a.get(context.WithoutCancel(a.hosted.t.Context()), "api/v1/targets", nil, &answer)
	a.hosted.t.Logf("targets of Prometheus: %+v %v", answer.Data.ActiveTargets, err)
}

// nowhere selects no machine of the management cluster.
var nowhere = map[string]hyperv1.LabelValue{"size": "enormous"}

func (a *alerts) snapshots() {
	a.fires("HypershiftEtcdSnapshotMissing", a.plane())
	a.snapshot()
	a.clears("HypershiftEtcdSnapshotMissing")
	a.fires("HypershiftEtcdSnapshotOld", a.plane())
	a.snapshot()
	a.clears("HypershiftEtcdSnapshotOld")
}

// nodes stops the agent of the tunnels on the only node.
func (a *alerts) nodes() {
	a.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")

	uid := ""
	a.eventually("the agent has a pod", func(context.Context) error {
		uid = strings.TrimSpace(a.hosted.kubectl("get pod -n kube-system -l k8s-app=konnectivity-agent -o jsonpath={.items[0].metadata.uid}"))
		if uid == "" {
			return errors.New("it has none")
		}
		return nil
	})
	resume := a.stop(uid, "proxy-agent")
	a.fires("HypershiftNodesUnreachable", a.plane())
	resume()
	a.clears("HypershiftNodesUnreachable")
}

// slowServer stops the API server most of the time.
func (a *alerts) slowServer() {
	pods, err := a.pods(a.hosted.t.Context())
	a.hosted.must(err)
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Labels["app"] == names.KubeAPIServer })
	if i < 0 {
		a.hosted.t.Fatal("there is no API server")
	}
	ctx, cancel := context.WithCancel(a.hosted.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			resume := a.stop(string(pods[i].UID), "kube-apiserver")
			pause(ctx, 3500*time.Millisecond)
			resume()
			pause(ctx, 300*time.Millisecond)
		}
	}()
	defer func() { cancel(); <-ended }()
	a.fires("HypershiftAPISlow", a.plane())
	cancel()
	<-ended
	a.clears("HypershiftAPISlow")
}

// unavailable leaves no machine on which etcd may run.
func (a *alerts) unavailable() {
	a.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.NodeSelector = nowhere
	})
	a.fires("HypershiftClusterNotAvailable", a.cluster())
	a.change(func(hc *hyperv1.HostedCluster) { hc.Spec.NodeSelector = nil })
	a.clears("HypershiftClusterNotAvailable")
	a.available()
}

// pause pauses the reconciliation, so that no controller repairs broken objects meanwhile.
func (a *alerts) pause() (resume func()) {
	a.change(func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
	a.waitForCondition(hyperv1.ReconciliationActive, "False")
	return func() { a.change(func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = nil }) }
}

// certificates lets a certificate almost expire.
func (a *alerts) certificates() {
	resume := a.pause()
	a.expire(names.SchedulerCertificate)
	a.fires("HypershiftCertificateNotRenewed", a.plane())
	a.fires("HypershiftCertificateExpires", a.plane())
	resume()
	a.clears("HypershiftCertificateNotRenewed")
	a.clears("HypershiftCertificateExpires")
}

// controlPlaneOperator removes the control-plane-operator and fills etcd. AWS does not accept the tokens of the next operator.
func (a *alerts) controlPlaneOperator() {
	t := a.hosted.t
	resume := a.pause()
	a.scaleOperator(a.namespace(), names.ControlPlaneOperator, 0)
	a.fires("HypershiftControlPlaneOperatorDown", a.cluster())
	a.fill()
	a.hosted.must(on.AWS.Fault(t.Context(), awsemulator.Fault{
		Kind: awsemulator.Error, Service: "sts", Account: a.customer.Account, Count: awsemulator.Forever,
		Code: "InvalidIdentityToken", Message: "No OpenIDConnect provider found in your account",
	}))
	t.Cleanup(func() { a.hosted.must(on.AWS.Forgive(context.WithoutCancel(t.Context()), a.customer.Account)) })
	resume()
	a.scaleOperator(a.namespace(), names.ControlPlaneOperator, 1)
	a.clears("HypershiftControlPlaneOperatorDown")
	a.fires("HypershiftClusterRefusedByAWS", a.cluster())
	a.hosted.must(on.AWS.Forgive(t.Context(), a.customer.Account))
	a.clears("HypershiftClusterRefusedByAWS")

	a.fires("HypershiftEtcdFillsUp", a.plane())
	a.empty()
	// The next one measures the database a minute after it has started.
	kubectl(t, "delete", "pod", "-n", a.namespace(), "-l", "app="+names.ControlPlaneOperator)
	a.eventually("the database has room", func(ctx context.Context) error {
		return a.expectSample(ctx, "hypershift_etcd_database_in_use_bytes / hypershift_etcd_database_quota_bytes < 0.5")
	})
	a.clears("HypershiftEtcdFillsUp")
}

// sendAudit sends the audit events of the cluster to a server outside.
func (a *alerts) sendAudit() {
	h := a.hosted
	server := startOutside(h.t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the client may be gone
		if a.audits.deaf.Load() {
			http.Error(w, "the disk is full", http.StatusInsufficientStorage)
			return
		}
		a.audits.received.Add(1)
	})
	text, err := webhookKubeconfig(server.URL, server.authority)
	h.must(err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: h.hc.Name + "-audit"}, Data: map[string][]byte{"webhook-kubeconfig": text}}
	h.must(h.management.Create(h.t.Context(), secret))
	h.t.Cleanup(func() { h.must(h.management.Delete(context.WithoutCancel(h.t.Context()), secret)) })
	h.hc.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: secret.Name}
}

// auditEvents waits for the next count of events, which the server of the webhook does not accept. They are counted every five minutes.
func (a *alerts) auditEvents() {
	if a.audits.received.Load() == 0 {
		a.hosted.t.Error("the audit webhook has received no event")
	}
	a.fires("HypershiftAuditEventsLost", a.plane())
	a.audits.deaf.Store(false)
	a.clears("HypershiftAuditEventsLost")
}

// expire replaces a certificate by a certificate that should have been renewed.
func (a *alerts) expire(name string) {
	now := time.Now()
	authority, err := pki.NewAuthority("expired", now.Add(-48*time.Hour))
	a.hosted.must(err)
	leaf, err := authority.Issue(pki.Request{User: "expired", Usage: pki.Server, Hosts: []string{"localhost"}}, pki.Terms{Validity: 48 * time.Hour, Renewal: 1.0 / 3}, now.Add(-46*time.Hour))
	a.hosted.must(err)
	a.setCertificate(name, leaf.Data(pki.Bundle(authority.Certificate)))
}

// fill writes until 86 % of the maximum size of etcd are in use, without old revisions, which the API server removes later. Free pages,
// which these objects leave behind and which are too small for the next, count against the maximum: they are removed in time.
func (a *alerts) fill() {
	a.compact()
	a.etcdctl("defrag")
	text := make([]byte, 450<<10)
	for i := 0; a.etcdField("DBSizeInUse")*100 < a.etcdField("DBSizeQuota")*86; i++ {
		if a.etcdField("DBSize")*100 > a.etcdField("DBSizeQuota")*90 {
			a.etcdctl("defrag")
		}
		_, err := rand.Read(text)
		a.hosted.must(err)
		manifest := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: filler-%d, labels: {filler: \"true\"}}, data: {content: %x}}", i, text)
		_, err = on.Kubectl(a.hosted.t.Context(), a.kubeconfig, manifest, "create", "-f", "-")
		a.hosted.must(err)
	}
}

// empty deletes the objects of fill, and removes the old revisions at once. The API server does that every five minutes.
func (a *alerts) empty() {
	a.hosted.kubectl("delete configmap -l filler=true")
	a.compact()
}

func (a *alerts) compact() { a.etcdctl("compact", strconv.Itoa(a.etcdField("Revision")), "--physical") }

// etcdctl runs etcdctl in the pod of etcd.
func (a *alerts) etcdctl(args ...string) string {
	const tls = "/etc/etcd/tls/"
	return kubectl(a.hosted.t, append([]string{"exec", "-n", a.namespace(), "etcd-0", "-c", "etcd", "--", "etcdctl", "--endpoints=https://localhost:2379",
		"--cacert=" + tls + "server/ca.crt", "--cert=" + tls + "server/tls.crt", "--key=" + tls + "server/tls.key"}, args...)...)
}

// etcdField returns a number of the status of etcd.
func (a *alerts) etcdField(name string) int {
	status := a.etcdctl("endpoint", "status", "--write-out=fields")
	_, rest, _ := strings.Cut(status, `"`+name+`" : `)
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		a.hosted.t.Fatalf("the status of etcd has no %s: %s", name, status)
	}
	return n
}

// operatorDown removes the hypershift-operator. AWS throttles the calls of the next one, and the network ignores the policies of
// the control plane. An operator checks the network when it starts, and then every ten minutes.
func (a *alerts) operatorDown() {
	t := a.hosted.t
	kubectl(t, "label", "namespace", a.namespace(), networkpolicy.UnenforcedLabel+"=")
	a.scaleOperator(hosting.Namespace, names.HypershiftOperator, 0)
	a.fires("HypershiftOperatorDown", nil)
	a.hosted.must(on.AWS.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.Throttle, Account: on.Management.Account, Count: awsemulator.Forever}))
	t.Cleanup(func() { a.hosted.must(on.AWS.Forgive(context.WithoutCancel(t.Context()), on.Management.Account)) })
	a.scaleOperator(hosting.Namespace, names.HypershiftOperator, 2)
	a.clears("HypershiftOperatorDown")
	a.fires("HypershiftThrottledByAWS", nil)
	a.hosted.must(on.AWS.Forgive(t.Context(), on.Management.Account))
	a.clears("HypershiftThrottledByAWS")

	a.fires("HypershiftNetworkPoliciesIgnored", nil)
	kubectl(t, "label", "namespace", a.namespace(), networkpolicy.UnenforcedLabel+"-")
	kubectl(t, "rollout", "restart", "-n", hosting.Namespace, "deployment/"+names.HypershiftOperator)
	a.waitForCondition(hyperv1.NetworkPoliciesEnforced, "True")
	a.clears("HypershiftNetworkPoliciesIgnored")
}

// deletion deletes the cluster while something holds its control plane.
func (a *alerts) deletion() {
	const hold = "example.test/hold"
	t := a.hosted.t
	edit := func(change func(client.Object)) {
		hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace(), Name: a.hc.Name}}
		a.hosted.must(a.management.Get(t.Context(), key(hcp), hcp))
		before := hcp.DeepCopy()
		change(hcp)
		a.hosted.must(a.management.Patch(t.Context(), hcp, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	}
	edit(func(o client.Object) { controllerutil.AddFinalizer(o, hold) })
	a.hosted.must(a.management.Delete(t.Context(), a.hc))
	a.fires("HypershiftClusterDeletionStuck", a.cluster())
	a.eventually("the finalizer is removed", func(ctx context.Context) error {
		hcp := &hyperv1.HostedControlPlane{}
		if err := a.management.Get(ctx, client.ObjectKey{Namespace: a.namespace(), Name: a.hc.Name}, hcp); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := hcp.DeepCopy()
		controllerutil.RemoveFinalizer(hcp, hold)
		return a.management.Patch(ctx, hcp, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	a.clears("HypershiftClusterDeletionStuck")
}

// scaleOperator sets the replicas of an operator and waits until it has as many.
func (a *alerts) scaleOperator(namespace, name string, replicas int32) {
	t := a.hosted.t
	t.Helper()
	kubectl(t, "scale", "-n", namespace, "deployment/"+name, "--replicas="+strconv.Itoa(int(replicas)))
	a.eventually(fmt.Sprintf("%s has %d replicas", name, replicas), func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		if err := a.management.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d); err != nil {
			return err
		}
		pods := &corev1.PodList{}
		if err := a.management.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
			return err
		}
		if len(pods.Items) != int(replicas) || d.Status.ReadyReplicas != replicas {
			return fmt.Errorf("it has %d pods, of which %d are ready", len(pods.Items), d.Status.ReadyReplicas)
		}
		return nil
	})
}

// stop stops the processes of a program in a pod, on whichever machine of the lab, until resume is called. The kubelet may replace them meanwhile.
func (a *alerts) stop(podUID, program string) (resume func()) {
	a.hosted.t.Helper()
	var stopped []int
	signal := func(s syscall.Signal) {
		for _, pid := range stopped {
			_ = syscall.Kill(pid, s) // it may have ended
		}
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		a.hosted.t.Error(err)
	}
	for _, dir := range dirs {
		groups, errGroups := os.ReadFile(filepath.Join(dir, "cgroup"))
		command, errCommand := os.ReadFile(filepath.Join(dir, "cmdline"))
		if errors.Join(errGroups, errCommand) != nil {
			continue // it has ended
		}
		path, _, _ := strings.Cut(string(command), "\x00")
		pid, err := strconv.Atoi(filepath.Base(dir))
		// Kubelets with the driver systemd write the names of cgroups with underscores.
		inPod := strings.Contains(strings.ReplaceAll(string(groups), "_", "-"), podUID)
		if err == nil && filepath.Base(path) == program && inPod {
			stopped = append(stopped, pid)
		}
	}
	if len(stopped) == 0 {
		a.hosted.t.Logf("pod %s has no process %s", podUID, program)
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}
