//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// TestMove moves a private cluster with two nodes to a second management cluster while its pods send each other requests, goes back twice, and
// moves again while the command is killed at each step. Then the second management cluster is lost, and the first gets the cluster from a bucket.
func TestMove(t *testing.T) {
	begin(t)
	m := &moving{backups: &backups{hosted: newHosted(t, "move", on.Versions[0]), bucket: "etcd-move"}}
	m.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
	metav1.SetMetaDataAnnotation(&m.hc.ObjectMeta, hyperv1.PrivateRecordTTLAnnotation, "10s")
	m.prepare()
	m.create()
	m.pools = m.poolPerZone(2)
	second, err := on.Second(t.Context(), 2)
	m.must(err)
	m.sides = []*hosting.Hosting{on, second}
	for _, side := range m.sides {
		c, err := client.New(side.Config, client.Options{Scheme: m.management.Scheme()})
		m.must(err)
		m.clients = append(m.clients, c)
	}
	t.Cleanup(func() { m.emptyBucket(context.WithoutCancel(t.Context())) })
	m.available()
	for _, pool := range m.pools {
		m.eventually("the node of "+pool.Name+" is ready", func(ctx context.Context) error { return m.poolReady(ctx, pool, 1) })
	}
	m.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	runAll(t, m.kubeconfig, []command{
		{name: "create pods that send requests", args: "apply -f -", stdin: chatter(on.Images["busybox"], 2), want: `deployment.apps/chatter created`},
		{name: "they run", args: "rollout status deployment/chatter --timeout=180s", want: `successfully rolled out`},
		{name: "create an object", args: "create configmap kept --from-literal=what=this", want: `created`},
	})
	m.instances, m.published = m.ids(""), m.publishedKubeconfig(0)
	m.sent = m.answered()
	m.uids = m.podUIDs()

	plan, code := m.command(t.Context(), "", "--plan")
	t.Log(plan)
	if code != cli.Done || m.exists(1) {
		t.Fatalf("exit code %d; the plan has changed something: %v", code, m.exists(1))
	}
	t.Run("back before there is data", func(t *testing.T) {
		m.killAt("sleep")
		m.succeeds(m.command(t.Context(), "", "--back"))
		m.at(0)
		if m.exists(1) {
			t.Error("the target is left")
		}
	})
	t.Run("back with data", func(t *testing.T) {
		m.killAt("removal")
		m.use(1)
		m.kubectl("create configmap written --from-literal=on=target")
		m.succeeds(m.command(t.Context(), "", "--back"))
		m.at(0)
		if got := m.kubectl("get configmap written -o jsonpath={.data.on}"); got != "target" {
			t.Errorf("what was written at the target is %q", got)
		}
	})
	t.Run("the command is killed at each step", func(t *testing.T) {
		gap := m.watchGap()
		for _, step := range []string{"state", "control plane", "sleep", "snapshot", "API server", "endpoints", "machines", "removal"} {
			m.killAt(step)
		}
		m.succeeds(m.command(t.Context(), "", "--yes"))
		t.Logf("the API did not answer for %.1f s", gap().Seconds())
		m.at(1)
		if m.exists(0) {
			t.Error("the source is left")
		}
	})
	t.Run("new nodes join", func(t *testing.T) {
		pool := &hyperv1.NodePool{}
		m.must(m.clients[1].Get(t.Context(), key(m.pools[0]), pool))
		pool.Spec.Replicas = ptr.To[int32](2)
		m.must(m.clients[1].Update(t.Context(), pool))
		m.eventually("there are two nodes", func(ctx context.Context) error { return m.poolReady(ctx, pool, 2) })
		m.instances = m.ids("")
	})
	t.Run("the management cluster is lost", func(t *testing.T) { m.lose(second) })
}

// moving is a cluster that moves between two management clusters.
type moving struct {
	*backups
	sides   []*hosting.Hosting
	clients []client.Client
	pools   []*hyperv1.NodePool
	// What must stay the same: instances, pods, and the user's kubeconfig. sent are the requests of pods so far.
	instances []string
	uids      string
	published string
	sent      chat
}

// use lets the user and the scenario work with one side.
func (m *moving) use(side int) {
	m.t.Helper()
	m.management = m.clients[side]
	m.eventually("the API is reachable", func(ctx context.Context) (err error) {
		m.kubeconfig, err = m.sides[side].AdminKubeconfig(ctx, client.ObjectKeyFromObject(m.hc))
		return err
	})
}

// at checks that the cluster runs on one side, as before.
func (m *moving) at(side int) {
	m.t.Helper()
	m.use(side)
	m.waitForCondition(hyperv1.HostedClusterAvailable, "True")
	m.eventually("all pods of the control plane are ready", m.rolledOut)
	for _, pool := range m.pools {
		m.eventually("the node of "+pool.Name+" is ready", func(ctx context.Context) error {
			if err := m.management.Get(ctx, key(pool), pool); err != nil {
				return err
			}
			return m.poolReady(ctx, pool, ptr.Deref(pool.Spec.Replicas, 0))
		})
	}
	m.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	runAll(m.t, m.kubeconfig, []command{
		{name: "the object is there", args: "get configmap kept -o jsonpath={.data.what}", want: `^this$`},
		{name: "exec runs a command in a pod", args: "exec deployment/chatter -c server -- hostname", want: `^chatter-`, again: true},
		{name: "controllers and kubelets see changes", args: fmt.Sprintf("create deployment seen-%d --image=%s -- sleep 3600", time.Now().Unix(), on.Images["busybox"]), want: `created`},
	})
	if now := m.ids(""); !slices.Equal(now, m.instances) {
		m.t.Errorf("the instances are %v, and were %v", now, m.instances)
	}
	if now := m.podUIDs(); now != m.uids {
		m.t.Errorf("pods were restarted or replaced: %s, and were %s", now, m.uids)
	}
	if now := m.publishedKubeconfig(side); now != m.published {
		m.t.Error("the user's kubeconfig is another one")
	}
	now := m.answered()
	m.t.Logf("pods: %d requests, %d failed", now.good-m.sent.good, now.failed-m.sent.failed)
	if now.good <= m.sent.good || now.failed > m.sent.failed {
		m.t.Errorf("the pods have sent %d requests, of which %d failed", now.good-m.sent.good, now.failed-m.sent.failed)
	}
	m.sent = now
}

// podUIDs are the pods that send requests, with the number of their restarts.
func (m *moving) podUIDs() string {
	return m.kubectl("get pods -l app=chatter --sort-by=.metadata.name -o jsonpath={.items[*].metadata.uid}/{.items[*].status.containerStatuses[*].restartCount}")
}

func (m *moving) publishedKubeconfig(side int) string {
	m.t.Helper()
	secret := &corev1.Secret{}
	m.eventually("the kubeconfig is published", func(ctx context.Context) error {
		return m.clients[side].Get(ctx, client.ObjectKey{Namespace: m.hc.Namespace, Name: m.hc.Name + "-admin-kubeconfig"}, secret)
	})
	return string(secret.Data["kubeconfig"])
}

// answered sums up the requests of the pods.
func (m *moving) answered() (sum chat) {
	m.t.Helper()
	m.eventually("the pods count their requests", func(ctx context.Context) error {
		sum = chat{}
		out, err := on.Kubectl(ctx, m.kubeconfig, "", "logs", "-l", "app=chatter", "-c", "client", "--tail=1")
		if err != nil {
			return err
		}
		lines := strings.Fields(out)
		if len(lines) != 4 {
			return fmt.Errorf("the counts are %q", lines)
		}
		for i := 0; i < len(lines); i += 2 {
			good, _ := strconv.Atoi(lines[i])
			failed, _ := strconv.Atoi(lines[i+1])
			sum.good, sum.failed = sum.good+good, sum.failed+failed
		}
		return nil
	})
	return sum
}

// exists reports whether a side has the cluster, or the namespace of its control plane.
func (m *moving) exists(side int) bool {
	m.t.Helper()
	err := m.clients[side].Get(m.t.Context(), client.ObjectKeyFromObject(m.hc), &hyperv1.HostedCluster{})
	if apierrors.IsNotFound(err) {
		err = m.clients[side].Get(m.t.Context(), client.ObjectKey{Name: m.namespace()}, &corev1.Namespace{})
	}
	m.must(client.IgnoreNotFound(err))
	return err == nil
}

// command runs the command. It is killed as soon as it prints until.
func (m *moving) command(ctx context.Context, until string, more ...string) (string, int) {
	m.t.Helper()
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	out := &killer{until: until, kill: kill}
	env := operation.Environment{In: strings.NewReader(""), Out: out, Err: out, Clock: clock.RealClock{}, StateHome: m.t.TempDir(), Middleware: []func(*middleware.Stack) error{}}
	args := []string{
		"move", "cluster", m.hc.Name, "-n", m.hc.Namespace, "--kubeconfig", m.sides[0].Kubeconfig, "--to-kubeconfig", m.sides[1].Kubeconfig,
		"--backup-bucket", m.bucket, "--backup-prefix", "prod", "--backup-role-arn", m.role, "--backup-bucket-owner", on.Management.Account,
	}
	commandLine.Lock()
	defer commandLine.Unlock()
	for _, variable := range on.AWS.Env(on.Management.Account) {
		name, value, _ := strings.Cut(variable, "=")
		defer restore(name)()
		m.must(os.Setenv(name, value))
	}
	code := cli.Run(ctx, "hypershift", append(args, more...), env)
	return out.String(), code
}

// killAt kills the command when it begins a step.
func (m *moving) killAt(step string) {
	m.t.Helper()
	out, code := m.command(m.t.Context(), " "+step+": ", "--yes")
	if code != cli.Interrupted {
		m.t.Fatalf("the command ends with %d before step %q:\n%s", code, step, out)
	}
}

func (m *moving) succeeds(out string, code int) {
	m.t.Helper()
	if code != cli.Done {
		m.t.Fatalf("exit code %d\n%s", code, out)
	}
	m.t.Log(out)
}

// killer is the output of a command that is killed when it prints a text.
type killer struct {
	mu    sync.Mutex
	text  strings.Builder
	until string
	kill  context.CancelFunc
}

func (k *killer) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text.Write(p)
	if k.until != "" && strings.Contains(k.text.String(), k.until) {
		k.kill()
	}
	return len(p), nil
}

func (k *killer) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}

// watchGap measures the longest time in which neither side answered a user, until the result is read.
func (m *moving) watchGap() (longest func() time.Duration) {
	ctx, stop := context.WithCancel(m.t.Context())
	result := make(chan time.Duration, 1)
	go func() {
		last, worst := time.Now(), time.Duration(0)
		for ctx.Err() == nil {
			if m.answers(ctx) {
				worst, last = max(worst, time.Since(last)), time.Now()
			}
			pause(ctx, 300*time.Millisecond)
		}
		result <- max(worst, time.Since(last))
	}()
	return func() time.Duration { stop(); return <-result }
}

// answers reports whether the API answers a user on either side.
func (m *moving) answers(ctx context.Context) bool {
	for side := range m.sides {
		path, _, err := m.sides[side].UserKubeconfig(ctx, client.ObjectKeyFromObject(m.hc))
		if err != nil {
			continue
		}
		cfg, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			continue
		}
		if address, err := m.sides[side].AdminKubeconfig(ctx, client.ObjectKeyFromObject(m.hc)); err == nil {
			cfg, err = clientcmd.BuildConfigFromFlags("", address)
			if err != nil {
				continue
			}
		}
		cfg.Timeout, cfg.NextProtos = time.Second, []string{"http/1.1"}
		c, err := client.New(cfg, client.Options{})
		if err == nil && c.Get(ctx, client.ObjectKey{Name: "default"}, &corev1.Namespace{}) == nil {
			return true
		}
	}
	return false
}

// lose stores a backup, loses the second management cluster with all that runs on it, and lets the first begin with the backup.
func (m *moving) lose(second *hosting.Hosting) {
	t := m.t
	backup := m.backup("last", nil)
	m.eventually("the backup is stored", func(ctx context.Context) error {
		return m.reports(ctx, backup, metav1.ConditionTrue, hyperv1.BackupSucceededReason)
	})
	m.kubectl("create configmap lost --from-literal=after=backup")
	for _, machine := range []string{"second-m1", "second-m2"} {
		m.must(second.KillMachine(t.Context(), machine))
	}
	began := time.Now()
	m.sides[0], m.sides[1] = m.sides[1], m.sides[0]
	out, code := m.command(t.Context(), "", "--from-backup", backup.Status.SnapshotURL)
	m.sides[0], m.sides[1] = m.sides[1], m.sides[0]
	m.succeeds(out, code)
	m.at(0)
	t.Logf("recovered from the bucket in %.0f s", time.Since(began).Seconds())
	if out, err := on.Kubectl(t.Context(), m.kubeconfig, "", "get", "configmap", "lost"); err == nil {
		t.Errorf("what was written after the backup is there: %s", out)
	}
	// The lost management cluster leaves its load balancers in the account of the provider, and nothing in that of the customer.
	m.removeLostBalancers()
}

// removeLostBalancers removes what a lost management cluster leaves in its account, as its owner does.
func (m *moving) removeLostBalancers() {
	for _, name := range []string{names.PrivateRouter, names.Router} {
		m.must(client.IgnoreNotFound(m.clients[1].Delete(context.WithoutCancel(m.t.Context()), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace(), Name: name}})))
	}
}
