//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/lab/balancer"
)

// TestWorkers lets machines of the customer in two zones join through PrivateLink with only their user data. Then it
// uses the cluster like any other, before and after a rotation of all CAs.
func TestWorkers(t *testing.T) {
	begin(t)
	h := newHosted(t, "workers", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	h.hc.Annotations = map[string]string{hyperv1.RotationPauseAnnotation: "45s"}
	h.create()
	often := h.followOften()
	pools := h.poolPerZone(2, hyperv1.NodePoolConfigMapReference{Name: often})
	h.available()
	for _, pool := range pools {
		h.eventually("the machine of "+pool.Name+" is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	}
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	runAll(t, h.kubeconfig, onNodes(on.Images["busybox"]))
	h.podNetwork(on.Images["busybox"])
	runAll(t, h.kubeconfig, issuerDocuments(on.Images["busybox"], h.hc.Spec.IssuerURL))
	h.loadBalancer(on.Images["busybox"])
	h.rotate()
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	runAll(t, h.kubeconfig, onNodes(on.Images["busybox"]))
}

// poolPerZone creates a NodePool with one machine in each of that many zones, with that node configuration.
func (h *hosted) poolPerZone(zones int, config ...hyperv1.NodePoolConfigMapReference) []*hyperv1.NodePool {
	h.t.Helper()
	var pools []*hyperv1.NodePool
	for i, subnet := range h.customer.Subnets[:zones] {
		pool := h.nodePool(fmt.Sprintf("%s-%d", h.hc.Name, i), 1)
		pool.Spec.Platform.AWS.Subnet.ID = ptr.To(subnet.ID)
		pool.Spec.Config = config
		h.must(h.management.Create(h.t.Context(), pool))
		pools = append(pools, pool)
	}
	return pools
}

// nodePool is a NodePool with that many machines in the first zone. The NodePools of all scenarios are in one namespace.
func (h *hosted) nodePool(name string, replicas int32) *hyperv1.NodePool {
	return &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: name},
		Spec: hyperv1.NodePoolSpec{
			ClusterName: h.hc.Name, Replicas: &replicas, Release: h.hc.Spec.Release,
			Management: hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace},
			NodeLabels: map[string]hyperv1.LabelValue{"pool": hyperv1.LabelValue(name)},
			Platform: hyperv1.NodePoolPlatform{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSNodePoolPlatform{
				InstanceType: "m5.large", InstanceProfile: h.customer.InstanceProfile,
				Subnet: hyperv1.AWSResourceReference{ID: ptr.To(h.customer.Subnets[0].ID)},
			}},
		},
	}
}

// poolReady returns an error that describes why a pool is not ready.
func (h *hosted) poolReady(ctx context.Context, pool *hyperv1.NodePool, replicas int32) error {
	if err := h.management.Get(ctx, key(pool), pool); err != nil {
		return err
	}
	ready := map[string]bool{}
	for _, c := range pool.Status.Conditions {
		ready[c.Type] = c.Status == corev1.ConditionTrue
	}
	if !ready[hyperv1.NodePoolReadyCondition] || !ready[hyperv1.NodePoolAllNodesHealthyCondition] || pool.Status.Replicas != replicas {
		return fmt.Errorf("%d of %d nodes are ready: %+v", pool.Status.Replicas, replicas, pool.Status.Conditions)
	}
	return nil
}

// onNodes are the commands of a user that need nodes; image contains a shell.
func onNodes(image string) []command {
	return []command{
		{name: "the nodes are ready", args: "get nodes -o wide", want: `(?s)\.ec2\.internal +Ready .*\.ec2\.internal +Ready `, again: true},
		{name: "the cloud controller has set their labels", args: "get nodes -L topology.kubernetes.io/zone,node.kubernetes.io/instance-type,pool", want: `us-east-1\w +m5\.large +\w`, again: true},
		{name: "the cloud controller has removed its taint", args: "get nodes -o jsonpath={.items[*].spec.taints}", want: `^$`, again: true},
		{name: "kube-proxy runs", args: "rollout status daemonset/kube-proxy -n kube-system --timeout=60s", want: `successfully rolled out`},
		{name: "the konnectivity agents run", args: "rollout status daemonset/konnectivity-agent -n kube-system --timeout=180s", want: `successfully rolled out`},
		{name: "DNS runs", args: "rollout status deployment/coredns -n kube-system --timeout=60s", want: `successfully rolled out`},
		{name: "DNS has never restarted", args: "get pods -n kube-system -l k8s-app=kube-dns -o jsonpath={.items[*].status.containerStatuses[*].restartCount}", want: `^0( 0)*$`},
		{name: "metrics-server runs", args: "rollout status deployment/metrics-server -n kube-system --timeout=120s", want: `successfully rolled out`},
		{name: "the usage of the nodes is known", args: "top nodes", want: `(?s)\.ec2\.internal +\d+m .*\.ec2\.internal +\d+m `, again: true},
		{name: "create a Deployment", args: "apply -f -", stdin: web(image), want: `(?s)deployment.apps/web created.*service/web created`},
		{name: "its pods run on different nodes", args: "rollout status deployment/web --timeout=60s", want: `successfully rolled out`},
		{name: "its logs come from the nodes", args: "logs deployment/web --all-pods=true", want: `(?s)web is here.*web is here`, again: true},
		{name: "exec runs a command in a pod", args: "exec deployment/web -- hostname", want: `^web-`},
		{name: "pods resolve names", args: "exec deployment/web -- nslookup web.default.svc.cluster.local", want: `Address.*172\.31\.77\.77`, again: true},
		{name: "a Service reaches its pods", args: "exec deployment/web -- wget -q -T 5 -O - http://web", want: `^web-\S+$`, again: true},
		{name: "the API server reaches pods through the tunnels", args: "get --raw /api/v1/namespaces/default/services/web:80/proxy/", want: `^web-`},
		{name: "pods reach the API server", args: "exec -i deployment/web -- sh /ask 172.31.0.1 443", stdin: request, want: `HTTP request to an HTTPS server`, again: true},
		{name: "delete the objects", args: "delete deployment,service web --timeout=60s", want: `deleted`},
	}
}

// issuerDocuments are the commands with which a pod reads the documents of the issuer of its token, at the URL in the token. It
// trusts the CAs of its image.
func issuerDocuments(image, issuer string) []command {
	var commands []command
	for _, document := range []struct{ name, path, want string }{
		{"discovery document", "/.well-known/openid-configuration", `"issuer": ?"` + issuer + `"`},
		{"keys", "/openid/v1/jwks", `"kid"`},
	} {
		// With --rm -i, kubectl prints no output if the pod ends while it attaches.
		commands = append(commands,
			command{name: "a pod asks for the issuer's " + document.name, args: "run issuer --restart=Never --image=" + image + " --command -- wget -q -t 3 -T 10 -O - " + issuer + document.path, want: "created"},
			command{name: "it gets an answer", args: "wait pod/issuer --for=jsonpath={.status.phase}=Succeeded --timeout=60s", want: "condition met"},
			command{name: "a pod reads the issuer's " + document.name, args: "logs issuer", want: document.want},
			command{name: "delete the pod", args: "delete pod issuer --timeout=60s", want: "deleted"},
		)
	}
	return commands
}

// balanced makes a Service of type LoadBalancer in the cluster, and waits for its load balancer.
func (h *hosted) balanced() {
	h.t.Helper()
	out, err := on.Kubectl(h.t.Context(), h.kubeconfig, balanced, "apply", "-f", "-")
	if err != nil {
		h.t.Fatalf("kubectl apply: %s: %v", out, err)
	}
	h.eventually("the Service has a load balancer", func(ctx context.Context) error {
		host, err := on.Kubectl(ctx, h.kubeconfig, "", "get", "service", "balanced", "-o", "jsonpath={.status.loadBalancer.ingress[0].hostname}")
		if err == nil && host == "" {
			err = errors.New("it has none")
		}
		return err
	})
	left, err := on.AWS.Leftovers(h.t.Context(), h.customer.Account)
	h.must(err)
	h.t.Logf("account %s has %s", h.customer.Account, strings.Join(left, ", "))
}

// loadBalancer makes a Service of type LoadBalancer in the cluster, and sends a request through its network load balancer from
// outside of the customer's VPC. The deletion of the cluster has to remove the load balancer.
func (h *hosted) loadBalancer(image string) {
	h.t.Helper()
	kubectl := func(stdin string, args ...string) string {
		h.t.Helper()
		out, err := on.Kubectl(h.t.Context(), h.kubeconfig, stdin, args...)
		if err != nil {
			h.t.Fatalf("kubectl %s: %s: %v", strings.Join(args, " "), out, err)
		}
		return out
	}
	kubectl(web(image), "apply", "-f", "-")
	kubectl(balanced, "apply", "-f", "-")
	kubectl("", "rollout", "status", "deployment/web", "--timeout=60s")
	began := time.Now()
	h.eventually("a request reaches a pod through the load balancer", func(ctx context.Context) error {
		host := kubectl("", "get", "service", "balanced", "-o", "jsonpath={.status.loadBalancer.ingress[0].hostname}")
		if host == "" {
			return errors.New("the Service has no load balancer; " + kubectl("", "get", "events", "--field-selector=involvedObject.name=balanced"))
		}
		status, err := on.Status(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(status.Cloud.LoadBalancers, func(b balancer.Status) bool { return b.Host == host })
		if at < 0 {
			return errors.New("the load balancer " + host + " does not forward traffic")
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(status.Cloud.LoadBalancers[at].Address.String(), "80"), nil)
		if err != nil {
			return err
		}
		resp, err := (&http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err == nil && !strings.HasPrefix(string(body), "web-") {
			err = fmt.Errorf("the response is %q", body)
		}
		return err
	})
	h.t.Logf("a request reached a pod through the load balancer after %.1f s", time.Since(began).Seconds())
	kubectl("", "delete", "deployment/web", "service/web", "--timeout=60s")
}

// balanced is a Service with a network load balancer that faces the internet.
const balanced = `
apiVersion: v1
kind: Service
metadata:
  name: balanced
  annotations: {service.beta.kubernetes.io/aws-load-balancer-type: nlb}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
`

// request is an HTTP request.
const request = "GET / HTTP/1.0\r\n\r\n"

// web is a server that runs in a pod on each of two nodes, of two pools if they are named, and starts after both can resolve
// names. Its script keeps the connection open after the request: the socket through which nodes reach the API server closes a
// connection after its client has closed its half.
func web(image string, pools ...string) string {
	where, apart := "{key: pool, operator: Exists}", "kubernetes.io/hostname"
	if len(pools) > 0 {
		where, apart = "{key: pool, operator: In, values: ["+strings.Join(pools, ", ")+"]}", "pool"
	}
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [%s]}]}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: %s, labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: web
        image: %s
        command: [sh, -c, "echo web is here; echo '(cat; sleep 2) | nc -w 5 $1 $2' >/ask; mkdir /web; hostname >/web/index.html; exec httpd -f -p 8080 -h /web"]
        readinessProbe: {exec: {command: [nslookup, kubernetes.default.svc.cluster.local]}, timeoutSeconds: 5, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  clusterIP: 172.31.77.77
  selector: {app: web}
  ports:
  - {port: 80, targetPort: 8080}
`, where, apart, image)
}
