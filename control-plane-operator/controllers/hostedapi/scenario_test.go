package hostedapi

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

// Includes the fields that Cluster API reads.
func TestStartOfAnAPIServerIsReported(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	const not = " is not there yet: Secret " + secret + ", by which it is found, has not been written"
	w.want(hyperv1.KubeAPIServerAvailable, "False NotDeployed: the API server"+not)
	w.want(hyperv1.EtcdAvailable, "False NotDeployed: etcd"+not)
	if s := w.status(); s.Ready || s.Initialized || s.Initialization != nil || s.KubeConfig != nil || s.Version != "" {
		t.Errorf("promised: %+v", s)
	}

	w.api.code, w.api.readyz = http.StatusInternalServerError, starting
	w.publish(w.api.kubeconfig())
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerNotReady: "+w.host()+" is not ready; these checks fail: poststarthook/rbac/bootstrap-roles")
	w.want(hyperv1.EtcdAvailable, "True QuorumAvailable: the API server reads from etcd")
	if w.status().Initialized {
		t.Error("initialized before it was ready")
	}

	w.api.code, w.api.readyz = http.StatusOK, allWell
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	s := w.status()
	if !s.Ready || !s.Initialized || s.Initialization == nil || !*s.Initialization.ControlPlaneInitialized || s.Version != "v1.36.3" {
		t.Errorf("%+v", s)
	}
	if *s.KubeConfig != (hyperv1.KubeconfigSecretRef{Name: names.AdminKubeconfig, Key: names.AdminKubeconfigFile}) {
		t.Errorf("%+v", s.KubeConfig)
	}
}

func TestHealthChecksAreMeasured(t *testing.T) {
	ready := func() float64 {
		t.Helper()
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "hypershift_cluster_api_ready" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	w := newTestEnv(t)
	w.pass()
	if got := ready(); got != 0 {
		t.Errorf("before the API server exists, the metric is %v", got)
	}
	w.publish(w.api.kubeconfig())
	w.pass()
	if got := ready(); got != 1 {
		t.Errorf("of an API server that is ready, the metric is %v", got)
	}
	w.api.Close()
	w.pass()
	if got := ready(); got != 0 {
		t.Errorf("of an API server that does not respond, the metric is %v", got)
	}
}

// The result is confirmed by another check, and the status stays initialized.
func TestLossOfAnAPIServerIsConfirmedAndReported(t *testing.T) {
	w := deployed(t)
	w.pass()
	w.api.Close()
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	w.outlast()
	w.want(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerUnreachable: "+w.host()+" refuses connections")
	w.want(hyperv1.EtcdAvailable, "Unknown StatusUnknown: the API server does not report etcd health")
	if s := w.status(); s.Ready || !s.Initialized || !*s.Initialization.ControlPlaneInitialized || s.Version != "v1.36.3" {
		t.Errorf("%+v", s)
	}

	old := w.api
	w.api = newAPIServer(t)
	w.publish(w.api.kubeconfig())
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	if old.asked == 0 || w.api.asked == 0 {
		t.Error("nobody was asked")
	}
}

// outlast reconciles until an outage is confirmed.
func (w *testEnv) outlast() {
	w.t.Helper()
	for spent := time.Duration(0); spent < outage; spent += confirmAfter {
		w.want(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
		if w.next != confirmAfter {
			w.t.Errorf("comes back after %s", w.next)
		}
		w.pass()
	}
}

const endingServer = "[+]etcd ok\n[-]shutdown failed: reason withheld\n"

func TestOnlyLastingOutageIsReported(t *testing.T) {
	w := deployed(t)
	w.pass()
	w.api.code, w.api.readyz = http.StatusInternalServerError, endingServer
	w.pass()
	w.outlast()
	w.want(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerNotReady: "+w.host()+" is not ready; these checks fail: shutdown")
}

// Each change of the Deployment triggers a check during a roll-out, and more than one check may reach a server that is
// shutting down.
func TestTerminatingServerIsNotAnOutage(t *testing.T) {
	w := deployed(t)
	w.pass()
	w.api.code, w.api.readyz = http.StatusInternalServerError, endingServer
	for range 5 {
		_, err := w.controller.ReconcileObject(t.Context(), w.hcp(t.Context()))
		w.must(err)
		w.clock.Step(time.Second)
		w.want(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	}
	w.api.code, w.api.readyz = http.StatusOK, allWell
	w.pass()
	w.api.code, w.api.readyz = http.StatusInternalServerError, endingServer
	w.pass() // the next shutdown starts a new period
	w.want(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
}

// The Service in the management cluster responds, but the load balancer does not.
func TestUnreachableLoadBalancerIsReported(t *testing.T) {
	w := deployed(t)
	w.checkPaths()
	balancer, err := net.Listen("tcp", "127.0.0.1:0") // accepts, but does not forward
	w.must(err)
	defer balancer.Close()
	svc := w.publishAt(balancer.Addr())
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	w.want(hyperv1.KubeAPIServerReachable, "False WaitingForFirstAnswer: Service kube-apiserver: waiting for the first check")
	w.awaitCheck()
	w.want(hyperv1.KubeAPIServerReachable, "False WaitingForFirstAnswer: Service kube-apiserver: "+balancer.Addr().String()+" does not answer within 3s; within the management cluster: "+balancer.Addr().String()+" does not answer within 3s")

	svc.Spec.Ports[0].Port = int32(w.api.Listener.Addr().(*net.TCPAddr).Port)
	w.must(w.Admin().Update(t.Context(), svc))
	w.pass()
	w.awaitCheck()
	w.want(hyperv1.KubeAPIServerReachable, "True AsExpected: the API server answers where it is published")

	// A restarted operator keeps the condition until its first result, and removes it when checks are disabled.
	w.checkPaths()
	w.pass()
	w.want(hyperv1.KubeAPIServerReachable, "True AsExpected: the API server answers where it is published")
	w.awaitCheck()
	w.want(hyperv1.KubeAPIServerReachable, "True AsExpected: the API server answers where it is published")
	w.start()
	w.pass()
	w.want(hyperv1.KubeAPIServerReachable, "nothing")
}

// A Service routes to a ready pod after a short time. After that time the interval is the usual one.
func TestNewAPIServerIsCheckedEverySecond(t *testing.T) {
	w := deployed(t)
	w.api.Close()
	w.pass()
	if w.next < 8*time.Second {
		t.Errorf("comes back after %s although there is no pod", w.next)
	}
	w.Create(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeAPIServer},
		Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now()),
		}}},
	})
	w.next = 0 // the watch reports a ready pod
	w.pass()
	if w.next != arrivalInterval {
		t.Errorf("comes back after %s", w.next)
	}
	w.clock.Step(arrival)
	w.pass()
	if w.next < 8*time.Second {
		t.Errorf("comes back after %s although that was long ago", w.next)
	}
}

func TestLostEtcdIsReported(t *testing.T) {
	w := deployed(t)
	w.pass()
	w.api.code, w.api.readyz = http.StatusInternalServerError, noEtcd
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerNotReady: "+w.host()+" is not ready; these checks fail: etcd, etcd-readiness")
	w.want(hyperv1.EtcdAvailable, "False EtcdWaitingForQuorum: the API server gets no answer from etcd")
}

func TestCorruptEtcdIsReported(t *testing.T) {
	w := deployed(t)
	w.pass()
	w.corrupt = []string{"etcd-1"}
	w.pass()
	w.want(hyperv1.EtcdAvailable, "True QuorumAvailable: the API server reads from etcd")
	w.api.code, w.api.readyz = http.StatusInternalServerError, noEtcd
	w.pass()
	w.want(hyperv1.EtcdAvailable, "False EtcdDataCorrupt: the data of etcd-1 differs from that of the other members, and etcd has stopped: "+
		"replace the volume as described in docs/etcd.md")
}

func TestComponentConditionsExplainTheProblem(t *testing.T) {
	w := deployed(t)
	w.api.Close()
	is := func(name string, status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		c := &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		_ = w.Admin().Delete(t.Context(), c)
		c.ResourceVersion = ""
		c.Status.Conditions = []metav1.Condition{{Type: hyperv1.ControlPlaneComponentAvailable, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Unix(0, 0)}}
		w.must(w.Admin().Create(t.Context(), c))
		w.pass()
	}
	is(names.KubeAPIServer, metav1.ConditionFalse, hyperv1.WaitingForDependenciesReason, "waiting until etcd runs version 1.36.3")
	w.want(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerUnreachable: "+w.host()+" refuses connections")
	is(names.Etcd, metav1.ConditionFalse, hyperv1.VolumeNotReadyReason, "etcd-0: no volume")
	w.want(hyperv1.KubeAPIServerAvailable, "False VolumeNotReady: "+w.host()+" refuses connections; etcd-0: no volume")
	w.want(hyperv1.EtcdAvailable, "False VolumeNotReady: etcd-0: no volume")
	is(names.Etcd, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	is(names.KubeAPIServer, metav1.ConditionFalse, hyperv1.ContainerCrashedReason, "container kube-apiserver ends with exit code 1")
	w.want(hyperv1.KubeAPIServerAvailable, "False ContainerCrashed: "+w.host()+" refuses connections; container kube-apiserver ends with exit code 1")
	w.want(hyperv1.EtcdAvailable, "Unknown StatusUnknown: the API server does not report etcd health")
}

func TestUpgradeChangesTheVersion(t *testing.T) {
	w := deployed(t)
	w.pass()
	w.api.version = "v1.37.0"
	w.pass()
	if got := w.status().Version; got != "v1.37.0" {
		t.Errorf("version %s", got)
	}
}

// Renewed credentials are read after the first failure.
func TestRenewedCredentialsAreUsed(t *testing.T) {
	w := deployed(t)
	stale := w.api.kubeconfig()
	stale.AuthInfos["u"].Token = "stale"
	w.publish(stale)
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "False KubeconfigRefused: "+w.host()+" returns 401 Unauthorized for the credentials in Secret "+secret)
	w.publish(w.api.kubeconfig())
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
}

// A deleted Secret is detected after some minutes. Until then the cached kubeconfig is used.
func TestDeletedKubeconfigIsDetected(t *testing.T) {
	w := deployed(t)
	w.pass()
	w.must(w.Admin().Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secret}}))
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	w.clock.Step(keep)
	w.pass()
	if !strings.HasPrefix(w.says(hyperv1.KubeAPIServerAvailable), "False NotDeployed") {
		t.Error(w.says(hyperv1.KubeAPIServerAvailable))
	}
}

// The messages do not contain a part of the kubeconfig.
func TestInvalidKubeconfigsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*clientcmdapi.Config)
		text  string
		want  string
	}{
		"no kubeconfig at all":      {text: token, want: "cannot be read as a kubeconfig with a current context"},
		"no current context":        {spoil: func(c *clientcmdapi.Config) { c.CurrentContext = "" }, want: "cannot be read as a kubeconfig with a current context"},
		"a program for credentials": {spoil: func(c *clientcmdapi.Config) { c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: program()} }, want: "relies on files or programs; put certificates and keys into it"},
		"a file with the token":     {spoil: func(c *clientcmdapi.Config) { c.AuthInfos["u"] = &clientcmdapi.AuthInfo{TokenFile: "/dev/null"} }, want: "relies on files or programs; put certificates and keys into it"},
		"a key that is none": {spoil: func(c *clientcmdapi.Config) {
			c.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: []byte(token), ClientKeyData: []byte(token)}
		}, want: "has certificates or keys that cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			if c.spoil != nil {
				cfg := w.api.kubeconfig()
				c.spoil(cfg)
				w.publish(cfg)
			} else {
				w.put(secret, names.ClusterKubeconfigFile, []byte(c.text))
			}
			w.pass()
			w.want(hyperv1.KubeAPIServerAvailable, "False KubeconfigInvalid: value in Secret "+secret+" "+c.want)
			if w.api.asked > 0 {
				t.Error("the server was asked all the same")
			}
		})
	}
}

func program() *clientcmdapi.ExecConfig {
	return &clientcmdapi.ExecConfig{Command: "/bin/false", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
}

func TestUntrustedServerIsReported(t *testing.T) {
	w := newTestEnv(t)
	cfg := w.api.kubeconfig()
	cfg.Clusters["c"].TLSServerName = "other.example.org"
	w.publish(cfg)
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerUntrusted: the certificate of "+w.host()+" is issued for other names")
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	w := deployed(t)
	w.api.code = http.StatusFound
	w.pass()
	w.want(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerNotReady: "+w.host()+" returns 302 Found for its readiness check")
}

// The Secrets are not read each time.
func TestCheckIntervals(t *testing.T) {
	w := newTestEnv(t)
	w.pass()
	if w.next < 10*time.Second || w.next > 12*time.Second {
		t.Errorf("without an API server comes back after %s", w.next)
	}
	w.publish(w.api.kubeconfig())
	w.pass()
	if w.next < 30*time.Second || w.next > 36*time.Second {
		t.Errorf("with an API server comes back after %s", w.next)
	}
	before := w.api.asked
	for range 3 {
		w.pass()
	}
	if got := w.api.asked - before; got != 6 {
		t.Errorf("%d questions in three passes", got)
	}
}

func TestMessagesContainNoSecretData(t *testing.T) {
	for _, spoil := range []func(*testEnv){
		func(*testEnv) {},
		func(w *testEnv) { w.api.Close() },
		func(w *testEnv) { w.api.code = http.StatusInternalServerError; w.api.readyz = token },
		func(w *testEnv) { w.put(secret, names.ClusterKubeconfigFile, []byte("a: ["+token)) },
	} {
		w := deployed(t)
		spoil(w)
		w.pass()
		text, err := json.Marshal(w.status())
		w.must(err)
		if strings.Contains(string(text), token) {
			t.Errorf("told: %s", text)
		}
	}
}

func story(t testing.TB) *crashtest.Scenario {
	w := deployed(t)
	return &crashtest.Scenario{
		Cluster: w.Cluster,
		Start:   w.start,
		Advance: w.clock.Step,
		Mask:    func(text string) string { return strings.ReplaceAll(text, w.host(), "the-api-server") },
		Ready: func(ctx context.Context) string {
			if hcp := w.hcp(ctx); hcp != nil && !hcp.Status.Ready {
				return w.says(hyperv1.KubeAPIServerAvailable)
			}
			return ""
		},
		Delete: func(ctx context.Context) error { return w.Admin().Delete(ctx, w.hcp(ctx)) },
	}
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	crashtest.CrashConsistency(t, story)
	crashtest.APIFaults(t, story)
}

func TestReadOnlyKMSKeyDoesNotMakeTheAPIServerUnavailable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && !slices.Contains(r.URL.Query()["exclude"], "kms-providers") {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte("[+]etcd ok\n[-]kms-providers failed: reason withheld\n"))
		}
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	k := &kubeconfig{server: at, client: server.Client()}
	one, two := secretencryption.KMS("arn:aws:kms:us-east-1:123456789012:key/one"), secretencryption.KMS("arn:aws:kms:us-east-1:123456789012:key/two")
	aes := secretencryption.AESCBC("aes", []byte("aes"))
	done := hyperv1.SecretEncryptionMigration{State: hyperv1.SecretEncryptionMigrationCompleted, From: &one, To: two, Stage: hyperv1.SecretEncryptionDone, CompletionTime: &metav1.Time{}}
	retained := done
	retained.Stage = hyperv1.SecretEncryptionRetain
	for name, c := range map[string]struct {
		status hyperv1.SecretEncryptionRecord
		backup bool
		fails  bool
	}{
		"the key that writes":                       {status: hyperv1.SecretEncryptionRecord{ActiveKey: &two, History: []hyperv1.SecretEncryptionMigration{done}}, fails: true},
		"the one before, which is retained":         {status: hyperv1.SecretEncryptionRecord{ActiveKey: &two, History: []hyperv1.SecretEncryptionMigration{retained}}},
		"one that writes in the next stage":         {status: hyperv1.SecretEncryptionRecord{ActiveKey: &aes, TargetKey: &two, History: []hyperv1.SecretEncryptionMigration{{State: hyperv1.SecretEncryptionMigrationInProgress, From: &aes, To: two, Stage: hyperv1.SecretEncryptionReadKey}}}},
		"the only one of AWS, and it writes":        {status: hyperv1.SecretEncryptionRecord{ActiveKey: &aes, TargetKey: &two, History: []hyperv1.SecretEncryptionMigration{{State: hyperv1.SecretEncryptionMigrationInProgress, From: &aes, To: two, Stage: hyperv1.SecretEncryptionWriteKey}}}, fails: true},
		"one that the user has read with as backup": {status: hyperv1.SecretEncryptionRecord{ActiveKey: &two, History: []hyperv1.SecretEncryptionMigration{done}}, backup: true},
	} {
		hcp := &hyperv1.HostedControlPlane{}
		hcp.Status.SecretEncryptionRecord = &c.status
		if c.backup {
			hcp.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{KMS: &hyperv1.KMSSpec{AWS: &hyperv1.AWSKMSSpec{BackupKey: &hyperv1.AWSKMSKeyEntry{ARN: one.Name}}}} //nolint:staticcheck // deprecated, and in use where somebody still sets it
		}
		got := k.queryHealth(t.Context(), clock.RealClock{}, leftOut(hcp)...).problem
		if (got != nil) != c.fails || got != nil && !strings.HasSuffix(got.message, "these checks fail: kms-providers") {
			t.Errorf("%s: the problem is %+v", name, got)
		}
	}
}
