package kubeapiserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	etcdcomponent "github.com/hosted-control-planes/hypershift/control-plane-operator/components/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

// A controlPlane is a running etcd and API server.
type controlPlane struct {
	*machine
	kubernetes.Interface
}

// startControlPlane starts the rendered components of env, and waits until they are ready.
func startControlPlane(t *testing.T, env *target.ControlPlane, prepare ...func(*machine)) *controlPlane {
	t.Helper()
	certify(t, env)
	m := newMachine(t, env)
	for _, change := range prepare {
		change(m)
	}
	m.startMembers()
	api := m.free()
	m.replace["--bind-address=0.0.0.0"] = "--bind-address=127.0.0.1"
	m.replace["--secure-port=6443"] = "--secure-port=" + portOf(api)
	m.start(Component, "https://"+api+"/readyz", trusting(env))
	client, err := kubernetes.NewForConfig(master(t, env, api))
	m.must(err)
	return &controlPlane{m, client}
}

// startMembers starts every member of etcd and waits until all are ready.
func (m *machine) startMembers() {
	m.t.Helper()
	cluster := etcd.Of(m.env.HCP)
	for _, name := range cluster.Members() {
		m.replace[hostOf(cluster.ClientURL(name))], m.replace[hostOf(cluster.PeerURL(name))] = m.free(), m.free()
	}
	m.replace[cluster.ServiceAddress()] = m.replace[hostOf(cluster.ClientURL("etcd-0"))]
	members := map[string]*process.Process{}
	for _, name := range cluster.Members() {
		m.probes[name] = m.free()
		members[name] = m.runMember(name)
	}
	for name, member := range members {
		m.memberReady(name, member)
	}
}

// runMember runs a member of etcd, which has its data from before if it has run.
func (m *machine) runMember(name string) *process.Process {
	m.t.Helper()
	cluster := etcd.Of(m.env.HCP)
	m.replace["https://0.0.0.0:2379"] = "https://127.0.0.1:" + portOf(m.replace[hostOf(cluster.ClientURL(name))])
	m.replace["https://0.0.0.0:2380"] = "https://127.0.0.1:" + portOf(m.replace[hostOf(cluster.PeerURL(name))])
	m.replace["http://0.0.0.0:2381"] = "http://127.0.0.1:" + portOf(m.probes[name])
	m.replace["https://127.0.0.1:2382"] = "https://127.0.0.1:" + portOf(m.free())
	return m.run(etcdcomponent.Component, name, m.decided(cluster, name))
}

func (m *machine) memberReady(name string, member *process.Process) {
	m.t.Helper()
	m.ready(member, "http://"+m.probes[name]+"/readyz", http.DefaultClient)
}

// decided writes the result of a member's init container, which a single member does not have.
func (m *machine) decided(cluster etcd.Cluster, name string) map[string]string {
	m.t.Helper()
	if cluster.Size == 1 {
		return nil
	}
	objs, err := component.Render(etcdcomponent.Component, m.env)
	m.must(err)
	common := m.configMap("etcd-config", objs)["etcd.yaml"]
	return map[string]string{"/etc/etcd/config/member.yaml": cluster.MemberConfig(string(common), name, cluster.Initial(), etcd.NewCluster)}
}

func hostOf(url string) string { return strings.TrimPrefix(url, "https://") }

func portOf(address string) string { return address[strings.LastIndex(address, ":")+1:] }

func TestAPIServerIssuesNoTokensForOperatorSubjects(t *testing.T) {
	c := startControlPlane(t, targettest.Env())
	accounts := c.CoreV1().ServiceAccounts("kube-system")
	for _, subject := range []string{names.ControlPlaneOperatorSubject, names.CAPIProviderSubject, names.CloudControllerSubject, names.KMSSubject} {
		if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: subject}}, metav1.CreateOptions{}); err == nil {
			t.Errorf("there is a service account %s", subject)
		}
		account := names.ServiceAccountSubject(subject)
		name := account[strings.LastIndex(account, ":")+1:]
		if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		minted, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{Audiences: []string{names.WebIdentityAudience}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		claims, err := base64.RawURLEncoding.DecodeString(strings.Split(minted.Status.Token, ".")[1])
		if err != nil {
			t.Fatal(err)
		}
		if want := `"sub":"` + account + `"`; !strings.Contains(string(claims), want) {
			t.Errorf("a token for %s has %s, want %s", name, claims, want)
		}
	}
}

func TestAPIServerServes(t *testing.T) {
	c := startControlPlane(t, targettest.Env())
	accounts := c.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), "shop", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(token.Status.Token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	issuer := c.env.HCP.Spec.IssuerURL
	if want := `"iss":"` + issuer + `"`; !strings.Contains(string(claims), want) {
		t.Errorf("a token has %s, want %s", claims, want)
	}
	documents := c.Discovery().RESTClient().Get().AbsPath("/.well-known/openid-configuration").Do(t.Context())
	if raw, err := documents.Raw(); err != nil || !strings.Contains(string(raw), `"jwks_uri":"`+issuer+`/openid/v1/jwks"`) {
		t.Errorf("the document of the issuer is %s, %v", raw, err)
	}
	c.says(`"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata"`)
}

// says waits for a line in the log of the API server.
func (c *controlPlane) says(text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	c.must(wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		log, err := os.ReadFile(c.log(Component.Name))
		return bytes.Contains(log, []byte(text)), err
	}))
}

func TestAPIServerServesWithoutOneEtcdMember(t *testing.T) {
	env := targettest.Env()
	targettest.HighlyAvailable.Adapt(env)
	c := startControlPlane(t, env)
	c.running[1].Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Requests to a lost leader may be lost.
	c.must(wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
		_, err := c.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{})
		return err == nil, nil
	}))
}

// An API server does not repeat a write when etcd's answer is an error that it does not know: its client gets the status 500. A write that etcd's leader
// has when it hands over times out in etcd, also in an orderly handover.
func TestRestartsOfEtcdMembersCauseNoUnknownErrors(t *testing.T) {
	env := targettest.Env()
	targettest.HighlyAvailable.Adapt(env)
	c := startControlPlane(t, env)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var requests, handedOver atomic.Int64
	for n := range 8 {
		clients.Go(func() {
			name := fmt.Sprintf("writer-%d", n)
			for ctx.Err() == nil {
				_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, name, types.ApplyPatchType,
					fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"n":"%d"}}`, name, requests.Add(1)),
					metav1.PatchOptions{FieldManager: "test"})
				switch {
				case err == nil || ctx.Err() != nil:
				case strings.Contains(err.Error(), "etcdserver: request timed out"):
					handedOver.Add(1)
				default:
					t.Errorf("a request failed: %v", err)
				}
			}
		})
	}
	for i, name := range etcd.Of(env.HCP).Members() {
		c.running[i].Stop(15 * time.Second)
		c.memberReady(name, c.runMember(name))
		time.Sleep(5 * time.Second) // the API server connects to it again, with a back-off
	}
	stop()
	clients.Wait()
	t.Logf("%d requests; %d timed out when the leader handed over", requests.Load(), handedOver.Load())
}

func TestAPIServerUsesTheUsersConfiguration(t *testing.T) {
	env := targettest.Env()
	configured(env)
	spec := env.HCP.Spec.Configuration
	withProvider(env)
	spec.Authentication = env.HCP.Spec.Configuration.Authentication
	spec.APIServer.ServingCerts.NamedCertificates = nil
	env.HCP.Spec.Configuration = spec
	encrypted(env)
	n := &env.HCP.Spec.Networking
	n.ServiceNetwork = append(n.ServiceNetwork, hyperv1.ServiceNetworkEntry{CIDR: "fd02::/112"})
	env.ConfigMaps["copied-clients"].Data[trustBundleKey] = someAuthority(t)
	env.ConfigMaps["copied-idp-ca"].Data[trustBundleKey] = someAuthority(t)
	has(env, "copied-audit", auditWebhookKey, webhook)

	c := startControlPlane(t, env)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password"}, Data: map[string][]byte{"key": []byte("open sesame")}}
	if _, err := c.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kept := c.kept("/registry/secrets/default/password")
	if !bytes.HasPrefix(kept, []byte("k8s:enc:aescbc:v1:key-"+secretencryption.Fingerprint([]byte(oneKey))+":")) || bytes.Contains(kept, []byte("open sesame")) {
		t.Errorf("etcd has the Secret as %q", kept)
	}
}

// kept returns etcd's value of the key.
func (c *controlPlane) kept(key string) []byte {
	c.t.Helper()
	values := c.below(key)
	if len(values) != 1 {
		c.t.Fatalf("etcd has %d values under %s", len(values), key)
	}
	return values[key]
}

// below returns all values of etcd below the prefix.
func (c *controlPlane) below(prefix string) map[string][]byte {
	c.t.Helper()
	identity, err := etcd.Identity(c.env.Secrets[names.EtcdClientCertificate].Data)
	c.must(err)
	members, err := etcd.Connect([]string{"https://" + c.replace[etcd.Of(c.env.HCP).ServiceAddress()]}, identity)
	c.must(err)
	defer func() { c.must(members.Close()) }()
	got, err := members.Get(c.t.Context(), prefix, clientv3.WithPrefix())
	c.must(err)
	values := map[string][]byte{}
	for _, kv := range got.Kvs {
		values[string(kv.Key)] = kv.Value
	}
	return values
}

func someAuthority(t *testing.T) string {
	t.Helper()
	authority, err := pki.NewAuthority("idp", metav1.Now().Time)
	if err != nil {
		t.Fatal(err)
	}
	return string(pki.Bundle(authority.Certificate))
}

// webhook is a kubeconfig of an unreachable server.
const webhook = `apiVersion: v1
kind: Config
clusters: [{name: audit, cluster: {server: "https://127.0.0.1:1/"}}]
contexts: [{name: audit, context: {cluster: audit, user: audit}}]
current-context: audit
users: [{name: audit, user: {}}]
`
