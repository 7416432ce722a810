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
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// Includes the fields that Cluster API reads.
func TestStartOfAnAPIServerIsReported(t *testing.T) {
	e := newFakeAPIServer(t)
	e.Later()
	const not = " is not there yet: Secret " + secret + ", by which it is found, has not been written"
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False NotDeployed: the API server"+not)
	e.ExpectConditionText(hyperv1.EtcdAvailable, "False NotDeployed: etcd"+not)
	if s := e.status(); s.Ready || s.Initialized || s.Initialization != nil || s.KubeConfig != nil || s.Version != "" {
		t.Errorf("promised: %+v", s)
	}

	e.api.code, e.api.readyz = http.StatusInternalServerError, starting
	e.publish(e.api.kubeconfig())
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerNotReady: "+e.host()+" is not ready; these checks fail: poststarthook/rbac/bootstrap-roles")
	e.ExpectConditionText(hyperv1.EtcdAvailable, "True QuorumAvailable: the API server reads from etcd")
	if e.status().Initialized {
		t.Error("initialized before it was ready")
	}

	e.api.code, e.api.readyz = http.StatusOK, allWell
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	s := e.status()
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
	e := newFakeAPIServer(t)
	e.Later()
	if got := ready(); got != 0 {
		t.Errorf("before the API server exists, the metric is %v", got)
	}
	e.publish(e.api.kubeconfig())
	e.Later()
	if got := ready(); got != 1 {
		t.Errorf("of an API server that is ready, the metric is %v", got)
	}
	e.api.Close()
	e.Later()
	if got := ready(); got != 0 {
		t.Errorf("of an API server that does not respond, the metric is %v", got)
	}
}

// The result is confirmed by another check, and the status stays initialized.
func TestLossOfAnAPIServerIsConfirmedAndReported(t *testing.T) {
	e := deployed(t)
	e.Later()
	e.api.Close()
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	e.outlast()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerUnreachable: "+e.host()+" refuses connections")
	e.ExpectConditionText(hyperv1.EtcdAvailable, "Unknown StatusUnknown: the API server does not report etcd health")
	if s := e.status(); s.Ready || !s.Initialized || !*s.Initialization.ControlPlaneInitialized || s.Version != "v1.36.3" {
		t.Errorf("%+v", s)
	}

	old := e.api
	e.api = newAPIServer(t)
	e.publish(e.api.kubeconfig())
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	if old.asked == 0 || e.api.asked == 0 {
		t.Error("nobody was asked")
	}
}

// outlast reconciles until an outage is confirmed.
func (e *fakeAPIServer) outlast() {
	e.T.Helper()
	for spent := time.Duration(0); spent < outage; spent += confirmAfter {
		e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
		e.ExpectRequeue(confirmAfter)
		e.Later()
	}
}

const endingServer = "[+]etcd ok\n[-]shutdown failed: reason withheld\n"

func TestOnlyLastingOutageIsReported(t *testing.T) {
	e := deployed(t)
	e.Later()
	e.api.code, e.api.readyz = http.StatusInternalServerError, endingServer
	e.Later()
	e.outlast()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerNotReady: "+e.host()+" is not ready; these checks fail: shutdown")
}

// Each change of the Deployment triggers a check during a roll-out, and more than one check may reach a server that is
// shutting down.
func TestTerminatingServerIsNotAnOutage(t *testing.T) {
	e := deployed(t)
	e.Later()
	e.api.code, e.api.readyz = http.StatusInternalServerError, endingServer
	for range 5 {
		e.Once()
		e.Clock.Step(time.Second)
		e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	}
	e.api.code, e.api.readyz = http.StatusOK, allWell
	e.Later()
	e.api.code, e.api.readyz = http.StatusInternalServerError, endingServer
	e.Later() // the next shutdown starts a new period
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
}

// The Service in the management cluster responds, but the load balancer does not.
func TestUnreachableLoadBalancerIsReported(t *testing.T) {
	e := deployed(t)
	e.checkPaths()
	balancer, err := net.Listen("tcp", "127.0.0.1:0") // accepts, but does not forward
	e.Must(err)
	defer balancer.Close()
	svc := e.publishAt(balancer.Addr())
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	e.ExpectConditionText(hyperv1.KubeAPIServerReachable, "False WaitingForFirstAnswer: Service kube-apiserver: waiting for the first check")
	e.awaitCheck()
	e.ExpectConditionText(hyperv1.KubeAPIServerReachable, "False WaitingForFirstAnswer: Service kube-apiserver: "+balancer.Addr().String()+" does not answer within 3s; within the management cluster: "+balancer.Addr().String()+" does not answer within 3s")

	svc.Spec.Ports[0].Port = int32(e.api.Listener.Addr().(*net.TCPAddr).Port)
	e.Must(e.Admin().Update(t.Context(), svc))
	e.Later()
	e.awaitCheck()
	e.ExpectConditionText(hyperv1.KubeAPIServerReachable, "True AsExpected: the API server answers where it is published")

	// A restarted operator keeps the condition until its first result, and removes it when checks are disabled.
	e.checkPaths()
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerReachable, "True AsExpected: the API server answers where it is published")
	e.awaitCheck()
	e.ExpectConditionText(hyperv1.KubeAPIServerReachable, "True AsExpected: the API server answers where it is published")
	e.pathsChecked = false
	e.Restart()
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerReachable, "nothing")
}

// A Service routes to a ready pod after a short time. After that time the interval is the usual one.
func TestNewAPIServerIsCheckedEverySecond(t *testing.T) {
	e := deployed(t)
	e.api.Close()
	e.Later()
	if e.RequeueAfter < 8*time.Second {
		t.Errorf("comes back after %s although there is no pod", e.RequeueAfter)
	}
	e.Create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeAPIServer},
		Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(e.Clock.Now()),
		}}},
	})
	e.RequeueAfter = 0 // the watch reports a ready pod
	e.Later()
	e.ExpectRequeue(arrivalInterval)
	e.Clock.Step(arrival)
	e.Later()
	if e.RequeueAfter < 8*time.Second {
		t.Errorf("comes back after %s although that was long ago", e.RequeueAfter)
	}
}

func TestLostEtcdIsReported(t *testing.T) {
	e := deployed(t)
	e.Later()
	e.api.code, e.api.readyz = http.StatusInternalServerError, noEtcd
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerNotReady: "+e.host()+" is not ready; these checks fail: etcd, etcd-readiness")
	e.ExpectConditionText(hyperv1.EtcdAvailable, "False EtcdWaitingForQuorum: the API server gets no answer from etcd")
}

func TestCorruptEtcdIsReported(t *testing.T) {
	e := deployed(t)
	e.Later()
	e.corrupt = []string{"etcd-1"}
	e.Later()
	e.ExpectConditionText(hyperv1.EtcdAvailable, "True QuorumAvailable: the API server reads from etcd")
	e.api.code, e.api.readyz = http.StatusInternalServerError, noEtcd
	e.Later()
	e.ExpectConditionText(hyperv1.EtcdAvailable, "False EtcdDataCorrupt: the data of etcd-1 differs from that of the other members, and etcd has stopped: "+
		"replace the volume as described in docs/etcd.md")
}

func TestComponentConditionsExplainTheProblem(t *testing.T) {
	e := deployed(t)
	e.api.Close()
	is := func(name string, status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		c := &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		_ = e.Admin().Delete(t.Context(), c)
		c.ResourceVersion = ""
		c.Status.Conditions = []metav1.Condition{{Type: hyperv1.ControlPlaneComponentAvailable, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Unix(0, 0)}}
		e.Must(e.Admin().Create(t.Context(), c))
		e.Later()
	}
	is(names.KubeAPIServer, metav1.ConditionFalse, hyperv1.WaitingForDependenciesReason, "waiting until etcd runs version 1.36.3")
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerUnreachable: "+e.host()+" refuses connections")
	is(names.Etcd, metav1.ConditionFalse, hyperv1.VolumeNotReadyReason, "etcd-0: no volume")
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False VolumeNotReady: "+e.host()+" refuses connections; etcd-0: no volume")
	e.ExpectConditionText(hyperv1.EtcdAvailable, "False VolumeNotReady: etcd-0: no volume")
	is(names.Etcd, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	is(names.KubeAPIServer, metav1.ConditionFalse, hyperv1.ContainerCrashedReason, "container kube-apiserver ends with exit code 1")
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False ContainerCrashed: "+e.host()+" refuses connections; container kube-apiserver ends with exit code 1")
	e.ExpectConditionText(hyperv1.EtcdAvailable, "Unknown StatusUnknown: the API server does not report etcd health")
}

func TestUpgradeChangesTheVersion(t *testing.T) {
	e := deployed(t)
	e.Later()
	e.api.version = "v1.37.0"
	e.Later()
	if got := e.status().Version; got != "v1.37.0" {
		t.Errorf("version %s", got)
	}
}

// Renewed credentials are read after the first failure.
func TestRenewedCredentialsAreUsed(t *testing.T) {
	e := deployed(t)
	stale := e.api.kubeconfig()
	stale.AuthInfos["u"].Token = "stale"
	e.publish(stale)
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False KubeconfigRefused: "+e.host()+" returns 401 Unauthorized for the credentials in Secret "+secret)
	e.publish(e.api.kubeconfig())
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
}

// A deleted Secret is detected after some minutes. Until then the cached kubeconfig is used.
func TestDeletedKubeconfigIsDetected(t *testing.T) {
	e := deployed(t)
	e.Later()
	e.Must(e.Admin().Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secret}}))
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "True AsExpected: the API server is ready")
	e.Clock.Step(keep)
	e.Later()
	if !strings.HasPrefix(e.ConditionText(hyperv1.KubeAPIServerAvailable), "False NotDeployed") {
		t.Error(e.ConditionText(hyperv1.KubeAPIServerAvailable))
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
			e := newFakeAPIServer(t)
			if c.spoil != nil {
				cfg := e.api.kubeconfig()
				c.spoil(cfg)
				e.publish(cfg)
			} else {
				e.Put(testenv.Secret(secret, names.ClusterKubeconfigFile, string([]byte(c.text))))
			}
			e.Later()
			e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False KubeconfigInvalid: value in Secret "+secret+" "+c.want)
			if e.api.asked > 0 {
				t.Error("the server was asked all the same")
			}
		})
	}
}

func program() *clientcmdapi.ExecConfig {
	return &clientcmdapi.ExecConfig{Command: "/bin/false", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
}

func TestUntrustedServerIsReported(t *testing.T) {
	e := newFakeAPIServer(t)
	cfg := e.api.kubeconfig()
	cfg.Clusters["c"].TLSServerName = "other.example.org"
	e.publish(cfg)
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerUntrusted: the certificate of "+e.host()+" is issued for other names")
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	e := deployed(t)
	e.api.code = http.StatusFound
	e.Later()
	e.ExpectConditionText(hyperv1.KubeAPIServerAvailable, "False KubeAPIServerNotReady: "+e.host()+" returns 302 Found for its readiness check")
}

// The Secrets are not read each time.
func TestCheckIntervals(t *testing.T) {
	e := newFakeAPIServer(t)
	e.Later()
	if e.RequeueAfter < 10*time.Second || e.RequeueAfter > 12*time.Second {
		t.Errorf("without an API server comes back after %s", e.RequeueAfter)
	}
	e.publish(e.api.kubeconfig())
	e.Later()
	if e.RequeueAfter < 30*time.Second || e.RequeueAfter > 36*time.Second {
		t.Errorf("with an API server comes back after %s", e.RequeueAfter)
	}
	before := e.api.asked
	for range 3 {
		e.Later()
	}
	if got := e.api.asked - before; got != 6 {
		t.Errorf("%d questions in three passes", got)
	}
}

func TestMessagesContainNoSecretData(t *testing.T) {
	for _, spoil := range []func(*fakeAPIServer){
		func(*fakeAPIServer) {},
		func(e *fakeAPIServer) { e.api.Close() },
		func(e *fakeAPIServer) { e.api.code = http.StatusInternalServerError; e.api.readyz = token },
		func(e *fakeAPIServer) { e.Put(testenv.Secret(secret, names.ClusterKubeconfigFile, "a: ["+token)) },
	} {
		e := deployed(t)
		spoil(e)
		e.Later()
		text, err := json.Marshal(e.status())
		e.Must(err)
		if strings.Contains(string(text), token) {
			t.Errorf("told: %s", text)
		}
	}
}

func story(t testing.TB) *crashtest.Scenario {
	e := deployed(t)
	s := e.Scenario()
	s.Mask = func(text string) string { return strings.ReplaceAll(text, e.host(), "the-api-server") }
	s.Ready = func(context.Context) string {
		if !e.status().Ready {
			return e.ConditionText(hyperv1.KubeAPIServerAvailable)
		}
		return ""
	}
	return s
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
