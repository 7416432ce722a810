//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// TestNodes makes nodes from stock images: an image that reads its user data with Ignition, an image with cloud-init, neither of which
// contains a program of Kubernetes, and one image with its own programs. Pods on the two stock images reach each other, and a
// user reaches them through a load balancer. Then it upgrades a pool during requests of a pod. Meanwhile a pool for each of
// several faults reports why its machine does not join.
func TestNodes(t *testing.T) {
	begin(t)
	h := newHosted(t, "nodes", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
	h.create()
	ignition, own := h.nodePool("nodes-ignition", 1), h.nodePool("nodes-own", 1)
	ignition.Spec.Platform.AWS.AMI = awsemulator.ImageAMD64
	own.Spec.Platform.AWS.AMI = awsemulator.ImageAMD64WithKubelet
	cloud := h.nodePool("nodes-cloud", 2)
	cloud.Spec.Release.Image = release(t, on.Versions[1])
	cloud.Spec.Platform.AWS.AMI = awsemulator.ImageAMD64Older
	cloud.Annotations = map[string]string{hyperv1.UserDataFormatAnnotation: string(hyperv1.UserDataFormatCloudConfig)}
	cloud.Spec.NodeDrainTimeout = &metav1.Duration{Duration: time.Minute}
	began := time.Now()
	for _, pool := range []*hyperv1.NodePool{ignition, own, cloud} {
		h.must(h.management.Create(t.Context(), pool))
	}
	h.available()
	t.Logf("the control plane was available after %.0f s", time.Since(began).Seconds())
	for pool, count := range map[string]int{"nodes-ignition": 1, "nodes-own": 1, "nodes-cloud": 2} {
		h.eventually("the nodes of "+pool+" are ready", func(context.Context) error { return h.healthy(pool, count) })
		t.Logf("the nodes of %s were ready after %.0f s", pool, time.Since(began).Seconds())
	}
	h.eventually("each pool has the kubelet of its release", func(context.Context) error {
		return errors.Join(
			h.runs("nodes-ignition", on.Versions[0], awsemulator.ImageAMD64),
			h.runs("nodes-own", on.Versions[0], awsemulator.ImageAMD64WithKubelet),
			h.runs("nodes-cloud", on.Versions[1], awsemulator.ImageAMD64Older),
		)
	})
	for pool, installs := range map[string]bool{"nodes-ignition": true, "nodes-own": false, "nodes-cloud": true} {
		if err := h.installed(pool, installs); err != nil {
			t.Error(err)
		}
	}
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	h.breakMachines()
	runAll(t, h.kubeconfig, []command{
		{name: "metrics-server runs", args: "rollout status deployment/metrics-server -n kube-system --timeout=120s", want: `successfully rolled out`},
		{name: "the usage of the nodes is known", args: "top nodes --no-headers", want: `^(\S+\.ec2\.internal +\d+m .*\n?){4}$`, again: true},
	})
	h.podNetwork(on.Images["busybox"], "nodes-ignition", "nodes-cloud")
	h.loadBalancer(on.Images["busybox"])
	h.upgradeDuringRequests("nodes-cloud", "nodes-ignition")
	h.causes()
}

// installed returns an error unless the machines of a pool have the programs of the release, or do not have them.
func (h *hosted) installed(pool string, want bool) error {
	instances, err := h.instances(pool)
	if err != nil {
		return err
	}
	for _, i := range instances {
		_, err := os.Lstat(filepath.Join(on.Dir, "machines", *i.InstanceId, "disk", "upper", "opt/hypershift/bin"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if (err == nil) != want {
			return fmt.Errorf("machine %s of pool %s, with image %s, has installed programs: %v, want %v", *i.InstanceId, pool, aws.ToString(i.ImageId), err == nil, want)
		}
	}
	return nil
}

// served is a server with two pods in a pool, of which one always runs, and a client in another pool that counts the requests
// that fail. A path runs GNU wget: the shell of busybox has its own wget, which crashes.
const served = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: served}
spec:
  replicas: 2
  selector: {matchLabels: {app: served}}
  template:
    metadata: {labels: {app: served}}
    spec:
      nodeSelector: {pool: %[2]s}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: served}}}
      containers:
      - name: served
        image: %[1]s
        command: [sh, -c, "mkdir /web; hostname >/web/index.html; exec httpd -f -p 8080 -h /web"]
        readinessProbe: {httpGet: {port: 8080, path: /}, periodSeconds: 1}
        # Requests arrive until every node has removed the pod from the Service.
        lifecycle: {preStop: {sleep: {seconds: 8}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: served}
spec: {minAvailable: 1, selector: {matchLabels: {app: served}}}
---
apiVersion: v1
kind: Service
metadata: {name: served}
spec:
  clusterIP: 172.31.77.78
  selector: {app: served}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: {pool: %[3]s}
  containers:
  - name: client
    image: %[1]s
    command: [sh, -c, "good=0; lost=0; while :; do if /usr/bin/wget -q -t 1 -T 5 -O /dev/null http://172.31.77.78; then good=$((good + 1)); else lost=$((lost + 1)); fi; echo $good good, $lost lost; sleep 0.05; done"]
`

// upgradeDuringRequests upgrades a pool while a pod in another pool uses its pods.
func (h *hosted) upgradeDuringRequests(pool, from string) {
	h.t.Helper()
	kubectl := func(stdin string, args ...string) (string, error) {
		return on.Kubectl(h.t.Context(), h.kubeconfig, stdin, args...)
	}
	out, err := kubectl(fmt.Sprintf(served, on.Images["busybox"], pool, from), "apply", "-f", "-")
	if err != nil {
		h.t.Fatalf("kubectl apply: %s: %v", out, err)
	}
	counted := func() string {
		out, err := kubectl("", "logs", "client", "--tail=1")
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(out)
	}
	if out, err := kubectl("", "rollout", "status", "deployment/served", "--timeout=120s"); err != nil {
		h.t.Fatalf("%s: %v", out, err)
	}
	h.eventually("the client gets answers", func(context.Context) error {
		if got := counted(); !strings.Contains(got, " good, ") || strings.HasPrefix(got, "0 good") {
			return errors.New(got)
		}
		return nil
	})
	before := counted()
	began := time.Now()
	h.updatePool(pool, func(np *hyperv1.NodePool) { np.Spec.Release.Image = h.hc.Spec.Release.Image })
	h.eventually("the pool runs the version of its cluster", func(context.Context) error {
		return errors.Join(h.runs(pool, on.Versions[0], awsemulator.ImageAMD64Older), h.healthy(pool, 2), poolConditions(h.pool(pool), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolUpdatingVersionCondition: corev1.ConditionFalse,
		}))
	})
	after := counted()
	h.t.Logf("the upgrade of 2 nodes took %.0f s; requests before: %s; after: %s", time.Since(began).Seconds(), before, after)
	if _, lost, _ := strings.Cut(after, " good, "); !strings.HasSuffix(before, " good, "+lost) {
		h.t.Errorf("requests were lost: %s before the upgrade, %s after it", before, after)
	}
	if out, err := kubectl("", "delete", "deployment/served", "service/served", "pod/client", "poddisruptionbudget/served", "--timeout=60s"); err != nil {
		h.t.Errorf("%s: %v", out, err)
	}
}

// A fault prevents that a machine joins.
type fault struct {
	name string
	// before is the unit that command precedes.
	before, command string
	// curl replaces the program of this name, if it is set.
	curl string
	// reason is the machine's report, and condition its pool's condition.
	reason, condition string
}

var faults = []fault{
	{name: "registry", before: "hypershift-programs.service", command: "/usr/bin/env ip route add blackhole 10.55.0.1", reason: "RegistryUnreachable", condition: hyperv1.NodePoolNodeProgramsUnavailableReason},
	{name: "disk", before: "hypershift-programs.service", command: "/usr/bin/env mount --mkdir -t tmpfs -o size=1m tmpfs /opt/hypershift", reason: "DiskFull", condition: hyperv1.NodePoolNodeProgramsUnavailableReason},
	{name: "digest", curl: altered, reason: "WrongDigest", condition: hyperv1.NodePoolNodeProgramsUnavailableReason},
	{name: "endpoint", before: "kubelet.service", command: "/bin/sh -c 'echo 192.0.2.1 api.nodes.hypershift.local >>/etc/hosts'", reason: "APIServerUnreachable", condition: hyperv1.NodePoolAPIServerUnreachableReason},
	{name: "token", before: "kubelet.service", command: `/bin/sh -c 'sed -i "s/token: .*/token: abcdef.0123456789abcdef/" /etc/kubernetes/bootstrap.kubeconfig'`, reason: "BootstrapTokenRefused", condition: hyperv1.NodePoolNodeRefusedReason},
	{name: expired, reason: "BootstrapTokenRefused", condition: hyperv1.NodePoolNodeRefusedReason},
}

// expired is the fault of a machine with a token that ends before its use.
const expired = "expired"

// altered is a curl that adds a byte to each layer, as a mirror may that was tampered with.
const altered = `#!/bin/sh
/usr/bin/curl "$@" || exit
for argument; do
	[ "$option" != -o ] || case $argument in */layer) echo >>"$argument" ;; esac
	option=$argument
done
`

// machineConfig is the fault as a configuration of machines.
func (f *fault) machineConfig() string {
	config := `
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: fault}
spec:
  config:
    ignition: {version: 3.2.0}
`
	if f.curl != "" {
		config += fmt.Sprintf(`
    storage:
      files:
      - {path: /usr/local/bin/curl, mode: 0755, contents: {source: "data:;base64,%s"}}
`, base64.StdEncoding.EncodeToString([]byte(f.curl)))
	}
	if f.command != "" {
		config += fmt.Sprintf(`
    systemd:
      units:
      - name: fault.service
        enabled: true
        contents: |
          [Unit]
          Before=%s hypershift-programs.service kubelet.service
          [Service]
          Type=oneshot
          RemainAfterExit=yes
          ExecStart=%s
          [Install]
          WantedBy=multi-user.target
`, f.before, f.command)
	}
	return config
}

// breakMachines makes a pool for each fault.
func (h *hosted) breakMachines() {
	h.t.Helper()
	for _, f := range faults {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: h.hc.Name + "-" + f.name}, Data: map[string]string{"config": f.machineConfig()}}
		h.must(h.management.Create(h.t.Context(), cm))
		h.t.Cleanup(func() { h.must(h.management.Delete(context.WithoutCancel(h.t.Context()), cm)) })
		pool := h.nodePool("nodes-fault-"+f.name, 1)
		pool.Spec.Config = []hyperv1.NodePoolConfigMapReference{{Name: cm.Name}}
		h.must(h.management.Create(h.t.Context(), pool))
	}
	h.eventually("the token ends before its machine uses it", func(ctx context.Context) error { return h.expireToken(ctx, "nodes-fault-"+expired) })
}

// expireToken lets the token of the machine of a pool end, when the machine has it.
func (h *hosted) expireToken(ctx context.Context, pool string) error {
	if n := len(h.ids(pool)); n != 1 {
		return fmt.Errorf("pool %s has %d instances", pool, n)
	}
	secrets := &corev1.SecretList{}
	if err := h.management.List(ctx, secrets, client.InNamespace(h.namespace()), client.HasLabels{hyperv1.BootstrapTokenLabel}); err != nil {
		return err
	}
	for _, s := range secrets.Items {
		if strings.HasPrefix(s.Name, "token-"+pool) {
			s.Data[bootstrapapi.BootstrapTokenExpirationKey] = []byte(time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
			return h.management.Update(ctx, &s)
		}
	}
	return fmt.Errorf("pool %s has no token", pool)
}

// causes waits until each pool with a fault reports the cause, and removes the pools.
func (h *hosted) causes() {
	h.t.Helper()
	for _, f := range faults {
		h.eventually("the pool names the fault "+f.name, func(context.Context) error {
			c := poolCondition(h.pool("nodes-fault-"+f.name), hyperv1.NodePoolAllNodesHealthyCondition)
			if c.Status != corev1.ConditionFalse || c.Reason != f.condition || !strings.Contains(c.Message, "the machine reports "+f.reason) {
				return fmt.Errorf("%s is %s %s: %s", c.Type, c.Status, c.Reason, c.Message)
			}
			h.t.Logf("%s: %s is %s, %s: %s", f.name, c.Type, c.Status, c.Reason, c.Message)
			return nil
		})
	}
	for _, f := range faults {
		h.must(h.management.Delete(h.t.Context(), h.pool("nodes-fault-"+f.name)))
	}
}
