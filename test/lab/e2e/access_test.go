//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/load"
)

// accessModes are in the order of the table. The changes are in an order in which each follows the one before.
var (
	accessModes   = []hyperv1.AWSEndpointAccessType{hyperv1.Public, hyperv1.PublicAndPrivate, hyperv1.Private}
	accessChanges = []hyperv1.AWSEndpointAccessType{
		hyperv1.Public, hyperv1.PublicAndPrivate, hyperv1.PublicAndPrivate, hyperv1.Private, hyperv1.Private,
		hyperv1.PublicAndPrivate, hyperv1.Public, hyperv1.Private, hyperv1.Public,
	}
)

// TestAccess changes the access mode of a running cluster in every direction, while pods on three nodes send each other
// requests through a Service, and users send requests to the API server on the path that both modes have. No node may become
// NotReady, and no request may fail.
func TestAccess(t *testing.T) {
	begin(t)
	h := newHosted(t, "access", on.Versions[0])
	h.publicNames()
	h.create()
	often := h.followOften()
	pools := h.poolPerZone(3, hyperv1.NodePoolConfigMapReference{Name: often})
	h.available()
	h.tunnelsStopSoon()
	for _, pool := range pools {
		h.eventually("the node of "+pool.Name+" is ready", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	}
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	h.kubectlOnAnyPath(chatter(on.Images["busybox"], len(pools)), "apply", "-f", "-")
	h.kubectlOnAnyPath("", "rollout", "status", "deployment/chatter", "--timeout=120s")

	table := map[[2]hyperv1.AWSEndpointAccessType]string{}
	from, sent := hyperv1.Public, h.chatted(len(pools))
	for _, to := range accessChanges {
		table[[2]hyperv1.AWSEndpointAccessType{from, to}], sent = h.changeAccess(from, to, len(pools), sent)
		from = to
	}
	lines := []string{"nodes NotReady / requests of pods failed / of users failed / seconds", fmt.Sprintf("%-18s", "from, to")}
	for _, to := range accessModes {
		lines[1] += fmt.Sprintf("%-26s", to)
	}
	for _, from := range accessModes {
		line := fmt.Sprintf("%-18s", from)
		for _, to := range accessModes {
			line += fmt.Sprintf("%-26s", table[[2]hyperv1.AWSEndpointAccessType{from, to}])
		}
		lines = append(lines, line)
	}
	t.Log("\n" + strings.Join(lines, "\n"))
}

// tunnelsStopSoon sets the grace period of the konnectivity agents, as an administrator of the hosted cluster may. An agent
// does not stop before its end, because it waits for connections that it forwards: 30 seconds for each node by default.
func (h *hosted) tunnelsStopSoon() {
	h.t.Helper()
	const soon = `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":3}}}}`
	h.kubectlOnAnyPath("", "patch", "daemonset", "konnectivity-agent", "-n", metav1.NamespaceSystem, "--type=merge", "-p", soon)
}

// heartbeats waits until each node has sent a heartbeat.
func (h *hosted) heartbeats(nodes int) {
	h.t.Helper()
	now := time.Now()
	h.eventually("every node sends a heartbeat", func(context.Context) error {
		fresh := 0
		for line := range strings.Lines(h.kubectlOnAnyPath("", "get", "leases", "-n", corev1.NamespaceNodeLease, "-o", `jsonpath={range .items[*]}{.spec.renewTime}{"\n"}{end}`)) {
			at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(line))
			if err != nil {
				return err
			}
			if at.After(now) {
				fresh++
			}
		}
		if fresh != nodes {
			return fmt.Errorf("%d of %d nodes have", fresh, nodes)
		}
		return nil
	})
}

// changeAccess changes the mode, and waits until the former one is gone and every node has sent a heartbeat. It returns a cell
// of the table, and the requests that pods have sent so far.
func (h *hosted) changeAccess(from, to hyperv1.AWSEndpointAccessType, nodes int, before chat) (string, chat) {
	h.t.Helper()
	h.t.Logf("%s becomes %s", from, to)
	watched := h.watchNodes()
	var users *load.Load
	if path := commonPath(from, to); path != "" {
		kubeconfig, err := h.kubeconfigBy(h.t.Context(), path)
		h.must(err)
		users, err = load.Start(h.t.Context(), kubeconfig)
		h.must(err)
		h.t.Cleanup(users.Stop)
	}
	began := time.Now()
	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.EndpointAccess = to })
	said := ""
	h.eventually("the access mode has changed", func(ctx context.Context) error {
		if err := h.management.Get(ctx, key(h.hc), h.hc); err != nil {
			return err
		}
		c := meta.FindStatusCondition(h.hc.Status.Conditions, hyperv1.EndpointAccessUpToDate)
		if c == nil {
			return errors.New("there is no condition " + hyperv1.EndpointAccessUpToDate)
		}
		if c.Message != said {
			said = c.Message
			h.t.Logf("%.1f s: %s %s: %s", time.Since(began).Seconds(), c.Status, c.Reason, said)
		}
		if c.Status != metav1.ConditionTrue || c.ObservedGeneration != h.hc.Generation {
			return fmt.Errorf("the condition is %+v", c)
		}
		return h.servedAs(ctx, to)
	})
	seconds := time.Since(began).Seconds()
	h.heartbeats(nodes)
	after := h.chatted(nodes)
	lost := watched()
	asked, failed := "-", 0
	if users != nil {
		count := users.Count()
		users.Stop()
		failed, asked = count.Failed, strconv.Itoa(count.Failed)
		h.t.Logf("users: %s", count)
	}
	h.t.Logf("pods: %d requests, %d failed", after.good-before.good, after.failed-before.failed)
	if len(lost) > 0 || after.failed > before.failed || failed > 0 {
		h.t.Errorf("%s becomes %s: nodes %v were NotReady, %d requests of pods and %d of users have failed", from, to, lost, after.failed-before.failed, failed)
	}
	if after.good <= before.good {
		h.t.Errorf("%s becomes %s: the pods have sent no requests", from, to)
	}
	return fmt.Sprintf("%d / %d / %s / %.0f", len(lost), after.failed-before.failed, asked, seconds), after
}

// commonPath is the path of users that both modes have.
func commonPath(from, to hyperv1.AWSEndpointAccessType) hyperv1.AWSEndpointAccessType {
	for _, path := range []hyperv1.AWSEndpointAccessType{hyperv1.Public, hyperv1.Private} {
		if from.Has(path) && to.Has(path) {
			return path
		}
	}
	return ""
}

// servedAs returns an error unless the load balancers and the connection match the mode.
func (h *hosted) servedAs(ctx context.Context, mode hyperv1.AWSEndpointAccessType) error {
	for name, want := range map[string]bool{names.Router: mode.Has(hyperv1.Public), names.PrivateRouter: mode.Has(hyperv1.Private)} {
		err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: name}, &corev1.Service{})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if (err == nil) != want {
			return fmt.Errorf("Service %s exists: %t", name, err == nil)
		}
	}
	services := &hyperv1.AWSEndpointServiceList{}
	if err := h.management.List(ctx, services, client.InNamespace(h.namespace())); err != nil {
		return err
	}
	if connected := len(services.Items) > 0; connected != mode.Has(hyperv1.Private) {
		return fmt.Errorf("there are %d AWSEndpointServices", len(services.Items))
	}
	return nil
}

// balancer is the host name of a Service's load balancer, or "".
func (h *hosted) balancer(ctx context.Context, name string) (string, error) {
	svc := &corev1.Service{}
	if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: name}, svc); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		return ingress.Hostname, nil
	}
	return "", nil
}

// kubeconfigBy writes the user's kubeconfig for a path: the load balancer of that path, and its name of the API server.
func (h *hosted) kubeconfigBy(ctx context.Context, path hyperv1.AWSEndpointAccessType) (string, error) {
	service := map[hyperv1.AWSEndpointAccessType]string{hyperv1.Public: names.Router, hyperv1.Private: names.PrivateRouter}[path]
	host, err := h.balancer(ctx, service)
	if err != nil {
		return "", err
	}
	status, err := on.Status(ctx)
	if err != nil {
		return "", err
	}
	config, err := clientcmd.LoadFromFile(h.kubeconfig)
	if err != nil {
		return "", err
	}
	for _, b := range status.Cloud.LoadBalancers {
		if b.Host != host {
			continue
		}
		for _, c := range config.Clusters {
			server, err := url.Parse(c.Server)
			if err != nil {
				return "", err
			}
			server.Host = net.JoinHostPort(b.Address.String(), "443")
			if c.Server = server.String(); path == hyperv1.Private {
				c.TLSServerName = names.LocalAPI(h.hc.Name)
			}
		}
		// A file for each load balancer: it may be read while another one is written.
		file := filepath.Join(on.Dir, fmt.Sprintf("%s-%s-%s.kubeconfig", h.hc.Name, path, b.Address))
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
		if err := clientcmd.WriteToFile(*config, file+".new"); err != nil {
			return "", err
		}
		return file, os.Rename(file+".new", file)
	}
	return "", fmt.Errorf("Service %s has no load balancer", service)
}

// kubectlOnAnyPath runs kubectl as the user, on a path that exists.
func (h *hosted) kubectlOnAnyPath(stdin string, args ...string) string {
	h.t.Helper()
	out := ""
	h.eventually("kubectl "+strings.Join(args, " "), func(ctx context.Context) error {
		var err error
		for _, path := range []hyperv1.AWSEndpointAccessType{hyperv1.Public, hyperv1.Private} {
			kubeconfig, pathErr := h.kubeconfigBy(ctx, path)
			if pathErr == nil {
				out, pathErr = on.Kubectl(ctx, kubeconfig, stdin, args...)
			}
			if pathErr == nil {
				return nil
			}
			err = errors.Join(err, fmt.Errorf("%s: %s: %w", path, out, pathErr))
		}
		return err
	})
	return out
}

// watchNodes reads the nodes all the time. The returned function returns those that were not ready at any time.
func (h *hosted) watchNodes() (lost func() []string) {
	h.t.Helper()
	ctx, stop := context.WithCancel(h.t.Context())
	seen := map[string]bool{}
	var reading sync.WaitGroup
	reading.Go(func() {
		for ctx.Err() == nil {
			for _, path := range []hyperv1.AWSEndpointAccessType{hyperv1.Public, hyperv1.Private} {
				kubeconfig, err := h.kubeconfigBy(ctx, path)
				if err != nil {
					continue
				}
				if nodes, err := h.nodes(ctx, kubeconfig); err == nil {
					for _, n := range nodes {
						if !isReady(n) {
							seen[n.Name] = true
						}
					}
					break
				}
			}
			pause(ctx, time.Second)
		}
	})
	return func() []string {
		stop()
		reading.Wait()
		return slices.Sorted(maps.Keys(seen))
	}
}

func (h *hosted) nodes(ctx context.Context, kubeconfig string) ([]corev1.Node, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 5 * time.Second
	c, err := client.New(config, client.Options{Scheme: h.management.Scheme()})
	if err != nil {
		return nil, err
	}
	list := &corev1.NodeList{}
	err = c.List(ctx, list)
	return list.Items, err
}

func isReady(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// A chat counts the requests of pods.
type chat struct{ good, failed int }

// chatted sums up the counts of all pods.
func (h *hosted) chatted(pods int) (sum chat) {
	h.t.Helper()
	h.eventually("all pods count their requests", func(context.Context) error {
		sum = chat{}
		lines := strings.Fields(h.kubectlOnAnyPath("", "logs", "-l", "app=chatter", "-c", "client", "--tail=1"))
		if len(lines) != 2*pods {
			return fmt.Errorf("the counts are %q", lines)
		}
		for i := 0; i < len(lines); i += 2 {
			good, err := strconv.Atoi(lines[i])
			failed, err2 := strconv.Atoi(lines[i+1])
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			sum.good, sum.failed = sum.good+good, sum.failed+failed
		}
		return nil
	})
	return sum
}

// chatter is a pod on each node, which serves requests, and sends five a second to the Service of all. Each line of its log
// contains the numbers of succeeded and failed requests. A request fails without an answer within 20 seconds, as a busy
// machine is slow.
func chatter(image string, pods int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: chatter}
spec:
  replicas: %d
  selector: {matchLabels: {app: chatter}}
  template:
    metadata: {labels: {app: chatter}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: chatter}}}
      containers:
      - name: server
        image: %[2]s
        command: [sh, -c, "mkdir /web; hostname >/web/index.html; exec httpd -f -p 8080 -h /web"]
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
      - name: client
        image: %[2]s
        command:
        - sh
        - -c
        - |
          good=0 failed=0
          sleep 10 # until all pods are ready
          while :; do
            case $( (printf 'GET / HTTP/1.0\r\n\r\n'; sleep 0.2) | nc -w 20 172.31.77.78 80) in
            *chatter-*) good=$((good + 1)) ;;
            *) failed=$((failed + 1)) ;;
            esac
            echo $good $failed
          done
---
apiVersion: v1
kind: Service
metadata: {name: chatter}
spec:
  clusterIP: 172.31.77.78
  selector: {app: chatter}
  ports:
  - {port: 80, targetPort: 8080}
`, pods, image)
}

// publicNames writes records like external-dns: the names that the user has chosen lead to the public load balancer, as long as
// it exists.
func (h *hosted) publicNames() {
	h.t.Helper()
	dns := route53.NewFromConfig(on.AWS.Config(on.Management.Account))
	domain := h.hc.Name + ".example.test"
	zone, err := dns.CreateHostedZone(h.t.Context(), &route53.CreateHostedZoneInput{Name: aws.String(domain), CallerReference: aws.String(time.Now().String())})
	h.must(err)
	ctx, stop := context.WithCancel(h.t.Context())
	var published string
	publish := func(ctx context.Context, action types.ChangeAction, host string) error {
		in := &route53.ChangeResourceRecordSetsInput{HostedZoneId: zone.HostedZone.Id, ChangeBatch: &types.ChangeBatch{}}
		in.ChangeBatch.Changes = []types.Change{{Action: action, ResourceRecordSet: &types.ResourceRecordSet{
			Name: aws.String("*." + domain), Type: types.RRTypeCname, TTL: aws.Int64(1), ResourceRecords: []types.ResourceRecord{{Value: aws.String(host)}},
		}}}
		_, err := dns.ChangeResourceRecordSets(ctx, in)
		return err
	}
	var running sync.WaitGroup
	running.Go(func() {
		for ; ctx.Err() == nil; pause(ctx, time.Second) {
			host, err := h.balancer(ctx, names.Router)
			switch {
			case err != nil || host == published:
				continue
			case host == "":
				err = publish(ctx, types.ChangeActionDelete, published)
			default:
				err = publish(ctx, types.ChangeActionUpsert, host)
			}
			if err != nil {
				h.t.Logf("publishing %s: %v", host, err)
				continue
			}
			published = host
		}
	})
	h.t.Cleanup(func() {
		stop()
		running.Wait()
		ctx := context.WithoutCancel(h.t.Context())
		if published != "" {
			h.must(publish(ctx, types.ChangeActionDelete, published))
		}
		_, err := dns.DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: zone.HostedZone.Id})
		h.must(err)
	})
}
