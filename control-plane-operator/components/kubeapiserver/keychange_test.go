package kubeapiserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/reencryption"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
	"github.com/hosted-control-planes/hypershift/test/fakekms"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

// A replica is one of several API servers of one etcd. Clients use it unless the test has stopped it.
type replica struct {
	name, at string
	clients  kubernetes.Interface
	process  *process.Process
	plugins  []*fakekms.Plugin
	// up is held for reading during a request, and for writing while the process is replaced.
	up            sync.RWMutex
	reads, failed atomic.Int64
	failure       atomic.Value
}

// A fleet is an etcd with API servers under requests.
type fleet struct {
	*machine
	kms      *fakekms.Service
	replicas []*replica
	stop     context.CancelFunc
	clients  sync.WaitGroup
}

func startFleet(t *testing.T, env *target.ControlPlane) *fleet {
	t.Helper()
	certify(t, env)
	kms, err := fakekms.New(arnOne, arnTwo)
	f := &fleet{machine: newMachine(t, env), kms: kms}
	f.must(err)
	t.Cleanup(func() {
		for _, r := range f.replicas {
			f.end(r)
		}
	})
	f.startMembers()
	f.replace["--bind-address=0.0.0.0"] = "--bind-address=127.0.0.1"
	for i := range 2 {
		r := &replica{name: fmt.Sprintf("api-%d", i), at: f.free()}
		f.replicas = append(f.replicas, r)
		f.begin(r)
		config := master(t, env, r.at)
		r.clients, err = kubernetes.NewForConfig(config)
		f.must(err)
	}
	if encrypts(env) {
		env.Secrets[EncryptionSecret] = configOf(t, env)
	}
	return f
}

// begin starts a replica and its plugins with the current manifests, and waits until its readiness probe succeeds.
func (f *fleet) begin(r *replica) {
	f.t.Helper()
	objs, err := component.Render(Component, f.env)
	f.must(err)
	pod := podOf(objs)
	f.plugIn(r, pod)
	f.replace["--secure-port=6443"] = "--secure-port=" + portOf(r.at)
	r.process = f.run(Component, r.name, nil)
	f.ready(r.process, "https://"+r.at+pod.Containers[0].ReadinessProbe.HTTPGet.Path, trusting(f.env))
}

// plugIn starts the plugins of a pod.
func (f *fleet) plugIn(r *replica, pod corev1.PodSpec) {
	f.t.Helper()
	f.must(os.MkdirAll(f.socketsOf(r.name), 0o700))
	for _, c := range pod.Containers {
		if !strings.HasPrefix(c.Name, "awskms-") {
			continue
		}
		args := map[string]string{}
		for _, arg := range c.Args {
			name, value, _ := strings.Cut(arg, "=")
			args[name] = value
		}
		plugin, err := f.kms.Listen(args["--key"], filepath.Join(f.socketsOf(r.name), filepath.Base(args["--listen"])))
		f.must(err)
		r.plugins = append(r.plugins, plugin)
	}
}

// end stops a replica, and then its plugins.
func (f *fleet) end(r *replica) {
	f.t.Helper()
	r.process.Kill()
	for _, plugin := range r.plugins {
		f.must(plugin.Stop())
	}
	r.plugins = nil
}

// rollOut replaces the replicas one after the other. Both configurations run for some time in between.
func (f *fleet) rollOut() {
	f.t.Helper()
	for _, r := range f.replicas {
		func() {
			r.up.Lock()
			defer r.up.Unlock() // clients end with a test that fails here
			f.end(r)
			f.begin(r)
		}()
		time.Sleep(time.Second) // requests run
	}
	f.env.Secrets[EncryptionSecret] = configOf(f.t, f.env)
}

// load has clients list and write Secrets at every replica until the test stops them.
func (f *fleet) load() {
	ctx, cancel := context.WithCancel(f.t.Context())
	f.stop = func() { cancel(); f.clients.Wait() }
	f.t.Cleanup(f.stop)
	for _, r := range f.replicas {
		f.clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				r.up.RLock()
				r.ask(ctx, n)
				r.up.RUnlock()
				time.Sleep(20 * time.Millisecond) // more requests would depend on the speed of the machine
			}
		})
	}
}

func (r *replica) ask(ctx context.Context, n int) {
	within, cancel := context.WithTimeout(ctx, 10*time.Second) // a replica that cannot read may wait for ever
	defer cancel()
	secrets := r.clients.CoreV1().Secrets("default")
	name := fmt.Sprintf("%s-%d", r.name, n%20)
	_, err := secrets.Patch(within, name, "application/apply-patch+yaml",
		fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q},"stringData":{"n":"%d"}}`, name, n), metav1.PatchOptions{FieldManager: "load"})
	if err == nil {
		_, err = secrets.List(within, metav1.ListOptions{})
	}
	if ctx.Err() != nil {
		return
	}
	if r.reads.Add(1); err != nil {
		r.failed.Add(1)
		r.failure.Store(err.Error())
	}
}

// failures returns the number of failed requests and one of their errors.
func (f *fleet) failures() (asked, failed int64, failure any) {
	for _, r := range f.replicas {
		asked, failed = asked+r.reads.Load(), failed+r.failed.Load()
		if err := r.failure.Load(); err != nil {
			failure = err
		}
	}
	return asked, failed, failure
}

// move takes the keys from stage to stage as the controller does, until the stage is reached.
func (f *fleet) move(until hyperv1.SecretEncryptionStage) {
	f.t.Helper()
	now := time.Now()
	run := &reencryption.Run{}
	for {
		f.rollOut()
		goal, backup, err := SpecKeys(f.env.HCP, f.env.Secrets)
		f.must(err)
		present, err := ConfiguredKeys(f.env.Secrets[EncryptionSecret])
		f.must(err)
		facts := secretencryption.Facts{Goal: goal, Backup: backup, Running: true, Present: present, RolledOut: true, Rewritten: run.Rewritten(), Now: now}
		next := secretencryption.Next(f.env.HCP.Status.SecretEncryptionRecord, facts)
		for stage := next.History[0].Stage; stage != until && (stage == hyperv1.SecretEncryptionReencrypt || stage == hyperv1.SecretEncryptionRetain); stage = next.History[0].Stage {
			if stage == hyperv1.SecretEncryptionReencrypt {
				f.rewrite(run)
			}
			now = now.Add(secretencryption.RetainFor)
			facts.Rewritten, facts.Now = run.Rewritten(), now
			next = secretencryption.Next(next, facts)
		}
		f.env.HCP.Status.SecretEncryptionRecord = next
		if next.History[0].Stage == until {
			return
		}
	}
}

func (f *fleet) rewrite(run *reencryption.Run) {
	f.t.Helper()
	c, err := client.New(master(f.t, f.env, f.replicas[0].at), client.Options{Scheme: scheme})
	f.must(err)
	f.must(run.Continue(f.t.Context(), c, corev1.SchemeGroupVersion.WithKind("Secret")))
	if !run.Rewritten() {
		f.t.Fatalf("%d Secrets were refused: %v", run.Failed(), run.Refused)
	}
}

// raw returns the values of all Secrets in etcd.
func (f *fleet) raw() map[string][]byte {
	f.t.Helper()
	return (&controlPlane{machine: f.machine}).below("/registry/secrets/")
}

// readAll reads every Secret at every replica.
func (f *fleet) readAll() (count int) {
	f.t.Helper()
	for _, r := range f.replicas {
		list, err := r.clients.CoreV1().Secrets("").List(f.t.Context(), metav1.ListOptions{ResourceVersion: ""})
		f.must(err)
		count = len(list.Items)
	}
	return count
}

// quiet creates Secrets that are not written again: only a re-encryption changes them.
func (f *fleet) quiet(count int) {
	f.t.Helper()
	secrets := f.replicas[0].clients.CoreV1().Secrets("default")
	for i := range count {
		_, err := secrets.Create(f.t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("quiet-%d", i)}, StringData: map[string]string{"key": "open sesame"},
		}, metav1.CreateOptions{})
		f.must(err)
	}
}

// encryptedWith fails the test unless every value in etcd begins with the prefix.
func (f *fleet) encryptedWith(prefix string) {
	f.t.Helper()
	values := f.raw()
	for name, value := range values {
		if !strings.HasPrefix(string(value), prefix) {
			f.t.Errorf("etcd has %s as %.60q, want %s", name, value, prefix)
		}
	}
	if count := f.readAll(); count != len(values) || count < 100 {
		f.t.Errorf("%d Secrets can be read, etcd has %d", count, len(values))
	}
}

func (f *fleet) unharmed() {
	f.t.Helper()
	f.stop()
	asked, failed, failure := f.failures()
	f.t.Logf("%d requests, %d failed", asked, failed)
	if failed > 0 || asked == 0 {
		f.t.Errorf("%d of %d requests failed: %v", failed, asked, failure)
	}
}

func kmsPrefix(arn string) string { return "k8s:enc:kms:v2:" + kmsName(arn) + ":" }

func aescbcPrefix(key string) string { return "k8s:enc:aescbc:v1:" + named(key) + ":" }

// Without stages the API server with the new key writes data that the other one cannot read. This test shows that the
// clients detect it.
func TestKeyChangeWithoutStagesBreaksReads(t *testing.T) {
	env := targettest.Env()
	encrypted(env)
	f := startFleet(t, env)
	f.load()
	to(env, "copied-next", nextKey)
	settled(env) // as if the key had been there all the time
	env.HCP.Status.SecretEncryptionRecord.History[0].Stage = hyperv1.SecretEncryptionRetain
	f.rollOut()
	f.stop()
	asked, failed, failure := f.failures()
	t.Logf("%d of %d requests failed: %v", failed, asked, failure)
	if failed == 0 {
		t.Error("no request failed: the clients would not notice a key that is missing")
	}
}

func TestKeyChangeInStagesHasNoFailedReads(t *testing.T) {
	env := targettest.Env()
	encrypted(env)
	env.HCP.Spec.SecretEncryption.AESCBC.BackupKey = nil //nolint:staticcheck // deprecated, but still supported
	f := startFleet(t, env)
	f.quiet(100)
	f.encryptedWith(aescbcPrefix(oneKey))
	f.load()
	to(env, "copied-next", nextKey)
	f.move(hyperv1.SecretEncryptionDone)
	f.unharmed()
	if got := order(t, env.Secrets[EncryptionSecret]); fmt.Sprint(got) != fmt.Sprint([]string{named(nextKey), "identity"}) {
		t.Errorf("the keys are %v", got)
	}
	f.encryptedWith(aescbcPrefix(nextKey))
}

func TestEnablingEncryptionHasNoFailedReads(t *testing.T) {
	env := targettest.Env()
	f := startFleet(t, env)
	f.quiet(100)
	f.encryptedWith("k8s\x00")
	f.load()
	encrypted(env)
	env.HCP.Spec.SecretEncryption.AESCBC.BackupKey = nil //nolint:staticcheck // deprecated, but still supported
	env.HCP.Status.SecretEncryptionRecord = nil
	moving(env, hyperv1.SecretEncryptionReadKey)
	f.move(hyperv1.SecretEncryptionDone)
	f.unharmed()
	f.encryptedWith(aescbcPrefix(oneKey))
}

// The key is changed again after some data was encrypted with it.
func TestSecondKeyChangeDuringTheFirstLosesNoData(t *testing.T) {
	env := targettest.Env()
	encrypted(env)
	env.HCP.Spec.SecretEncryption.AESCBC.BackupKey = nil //nolint:staticcheck // deprecated, but still supported
	f := startFleet(t, env)
	f.quiet(100)
	f.load()
	to(env, "copied-next", nextKey)
	f.move(hyperv1.SecretEncryptionWriteKey)
	f.rollOut()
	to(env, "copied-third", anotherKey)
	f.move(hyperv1.SecretEncryptionDone)
	f.unharmed()
	if got := order(t, env.Secrets[EncryptionSecret]); fmt.Sprint(got) != fmt.Sprint([]string{named(anotherKey), "identity"}) {
		t.Errorf("the keys are %v", got)
	}
	f.encryptedWith(aescbcPrefix(anotherKey))
}

// From a key of the user's to one of AWS, and from there to another one of AWS. A key that no longer encrypts any object may be disabled
// and deleted, be it still in the configuration or not, and API servers start and serve without it.
func TestKeysOfAWSChangeInStagesWithoutAFailedRead(t *testing.T) {
	env := targettest.Env()
	encrypted(env)
	env.HCP.Spec.SecretEncryption.AESCBC.BackupKey = nil //nolint:staticcheck // deprecated, and in use where somebody still sets it
	f := startFleet(t, env)
	f.quiet(100)
	f.load()
	before := env.HCP.Status.SecretEncryptionRecord
	encryptedByAWS(env)
	env.HCP.Status.SecretEncryptionRecord = before
	toARN(env, arnOne)
	f.move(hyperv1.SecretEncryptionDone)
	f.keys(kmsName(arnOne), "identity")
	f.encryptedWith(kmsPrefix(arnOne))

	toARN(env, arnTwo)
	f.move(hyperv1.SecretEncryptionRetain)
	f.keys(kmsName(arnTwo), kmsName(arnOne), "identity")
	f.kms.Disable(arnOne)
	f.rollOut()
	f.encryptedWith(kmsPrefix(arnTwo))
	f.move(hyperv1.SecretEncryptionDone)
	f.keys(kmsName(arnTwo), "identity")
	f.kms.Delete(arnOne)
	f.rollOut()
	f.unharmed()
	f.encryptedWith(kmsPrefix(arnTwo))
}

// keys fails the test unless the configuration has these, in this order.
func (f *fleet) keys(want ...string) {
	f.t.Helper()
	if got := order(f.t, f.env.Secrets[EncryptionSecret]); !slices.Equal(got, want) {
		f.t.Errorf("the keys are %v, want %v", got, want)
	}
}

// The same as with keys of the user: one of AWS that encrypts at once breaks reads.
func TestAKeyOfAWSThatChangesAtOnceBreaksReads(t *testing.T) {
	env := targettest.Env()
	encryptedByAWS(env)
	toARN(env, arnOne)
	settled(env)
	f := startFleet(t, env)
	f.load()
	toARN(env, arnTwo)
	settled(env) // as if the key had been there all the time
	env.HCP.Status.SecretEncryptionRecord.History[0].Stage = hyperv1.SecretEncryptionRetain
	f.rollOut()
	f.stop()
	asked, failed, failure := f.failures()
	t.Logf("%d of %d requests failed: %v", failed, asked, failure)
	if failed == 0 {
		t.Error("no request failed: the clients would not notice a key that is missing")
	}
}
