package nodeconfig_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig/nodeconfigtest"
)

func machine() nodeconfig.Machine {
	return nodeconfig.Machine{
		Server:     "https://api.example.hypershift.local:6443",
		Token:      "abcdef.0123456789abcdef",
		CA:         []byte("-----BEGIN CERTIFICATE-----\nroot\n-----END CERTIFICATE-----\n"),
		ClientCA:   []byte("-----BEGIN CERTIFICATE-----\nclients\n-----END CERTIFICATE-----\n"),
		Advertised: netip.MustParseAddrPort("172.20.0.1:6443"),
	}
}

// inputs returns the inputs of a small cluster.
func inputs() nodeconfig.Inputs {
	return nodeconfig.Inputs{Cluster: nodeconfig.ClusterSettings{ServiceNetworks: []string{"172.31.0.0/16"}}}
}

// configured are the inputs of a pool with a configuration.
func configured(c nodeconfig.Config) nodeconfig.Inputs {
	in := inputs()
	in.Pool = c
	return in
}

func read(t *testing.T, in nodeconfig.Inputs, m nodeconfig.Machine) *nodeconfigtest.Node {
	t.Helper()
	text, err := nodeconfig.Render(in, m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := nodeconfig.Render(in, m)
	if err != nil || !bytes.Equal(text, again) {
		t.Fatalf("the same machine has other user data the second time (%v)", err)
	}
	node, err := nodeconfigtest.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func parse(t *testing.T, texts ...string) nodeconfig.Config {
	t.Helper()
	var sources []nodeconfig.Source
	for i, text := range texts {
		sources = append(sources, nodeconfig.Source{Name: string(rune('a' + i)), Text: text})
	}
	c, problems := nodeconfig.Parse(sources)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// The forwarder does not use a proxy.
func TestTheKubeletUsesTheForwarderUnlessThereIsAProxy(t *testing.T) {
	for proxy, want := range map[string]string{"": "https://172.20.0.1:6443", "http://proxy.example.com:3128": machine().Server} {
		in := inputs()
		in.Cluster.Proxy.HTTPS = proxy
		if got := read(t, in, machine()).KubeletServer; got != want {
			t.Errorf("with proxy %q: the kubelet uses %s, want %s", proxy, got, want)
		}
	}
}

func TestAMachineJoins(t *testing.T) {
	m := machine()
	m.Labels = map[string]string{"tier": "front", "node.kubernetes.io/speed": "high", "node-role.kubernetes.io/worker": "", "topology.example.com/rack": "7"}
	m.Taints = []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	in := inputs()
	in.Cluster.SSHKey = nodeconfig.Source{Name: "mine", Text: "# mine\nssh-ed25519 AAAA me\n"}
	node := read(t, in, m)

	if node.Server != m.Server || node.Token != m.Token || !bytes.Equal(node.CA, m.CA) {
		t.Errorf("joins %s with token %q and CA %q", node.Server, node.Token, node.CA)
	}
	// The kubelet would not start with a label of kubernetes.io that it may not set.
	wantLabels := map[string]string{"tier": "front", "node.kubernetes.io/speed": "high", "topology.example.com/rack": "7"}
	if diff := cmp.Diff(wantLabels, node.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	wantTaints := []corev1.Taint{
		{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule},
	}
	if diff := cmp.Diff(wantTaints, node.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"core": {"ssh-ed25519 AAAA me"}}, node.SSHKeys); diff != "" {
		t.Errorf("ssh keys (-want +got):\n%s", diff)
	}
	wantKubelet := `apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/kubelet-clients.crt
authorization:
  mode: Webhook
cgroupDriver: systemd
clusterDNS:
- 172.31.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
kind: KubeletConfiguration
rotateCertificates: true
serverTLSBootstrap: true
staticPodPath: /etc/kubernetes/manifests
tlsCipherSuites:
- TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
- TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
- TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
`
	if diff := cmp.Diff(wantKubelet, node.Files["/etc/kubernetes/kubelet.yaml"]); diff != "" {
		t.Errorf("configuration of the kubelet (-want +got):\n%s", diff)
	}
	if _, found := node.Files["/etc/kubernetes/environment"]; found {
		t.Error("an environment was written although there is neither proxy nor trust bundle")
	}
}

// An authority of servers must not sign for clients that may read every pod.
func TestTheKubeletVerifiesItsClientsWithACAOfTheirOwn(t *testing.T) {
	m := machine()
	node := read(t, inputs(), m)
	if got := node.Files["/etc/kubernetes/pki/kubelet-clients.crt"]; got != string(m.ClientCA) {
		t.Errorf("clients are known by %q", got)
	}
}

// The kubelet writes the kubeconfig that names its certificate before it has that. Ending in between must not cost it the token.
func TestTheTokenIsRemovedAfterTheCertificateIsIssued(t *testing.T) {
	units := read(t, inputs(), machine()).Units
	if got := units["hypershift-joined.path"]; !strings.Contains(got, "PathExists=/var/lib/kubelet/pki/kubelet-client-current.pem\n") {
		t.Errorf("it waits for something else:\n%s", got)
	}
	if got := units["kubelet.service.d/90-hypershift.conf"]; !strings.Contains(got, " --cert-dir=/var/lib/kubelet/pki ") {
		t.Errorf("the kubelet keeps its certificates elsewhere:\n%s", got)
	}
}

func TestPodsFindTheAPIServerOnTheirNode(t *testing.T) {
	for sentence, c := range map[string]struct{ server, at, address, listen, proxy string }{
		"IPv4": {"https://api.example.hypershift.local:443", "172.20.0.1:6443", "ip address replace 172.20.0.1/32 dev lo\n", "ListenStream=172.20.0.1:6443\n", "ADDRESS=api.example.hypershift.local:443\n"},
		"IPv6": {"https://[2001:db8::7]:6443", "[fd00::1]:7443", "ip address replace fd00::1/128 dev lo\n", "ListenStream=[fd00::1]:7443\n", "ADDRESS=[2001:db8::7]:6443\n"},
	} {
		m := machine()
		m.Server, m.Advertised = c.server, netip.MustParseAddrPort(c.at)
		node := read(t, inputs(), m)
		units := node.Units
		if got := node.Files["/etc/kubernetes/apiserver"]; !strings.Contains(got, c.proxy) {
			t.Errorf("%s: the file with the address lacks %q:\n%s", sentence, c.proxy, got)
		}
		for unit, want := range map[string]string{"hypershift-apiserver.socket": c.address, "hypershift-apiserver.service": "EnvironmentFile=/etc/kubernetes/apiserver\n"} {
			if !strings.Contains(units[unit], want) {
				t.Errorf("%s: %s lacks %q:\n%s", sentence, unit, want, units[unit])
			}
		}
		if !strings.Contains(units["hypershift-apiserver.socket"], c.listen) {
			t.Errorf("%s: nobody listens:\n%s", sentence, units["hypershift-apiserver.socket"])
		}
	}
}

func TestTheIdentityScriptIsValidShell(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell on this machine")
	}
	check := exec.CommandContext(t.Context(), shell, "-n")
	check.Stdin = strings.NewReader(read(t, inputs(), machine()).Files["/etc/kubernetes/identity.sh"])
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestKubeletAndContainerdGetProxyAndTrustBundle(t *testing.T) {
	in := inputs()
	in.Cluster.MachineNetworks, in.Cluster.PodNetworks = []string{"10.0.0.0/16"}, []string{"10.132.0.0/14"}
	in.Cluster.Proxy = nodeconfig.Proxy{HTTPS: `http://user:p%40ss"word@proxy:3128`, NoProxy: " example.com\n", TrustedCA: nodeconfig.Source{Name: "b", Text: "proxy"}}
	in.Cluster.TrustBundle = nodeconfig.Source{Name: "a", Text: "\nmore\n"}
	node := read(t, in, machine())
	want := `HTTPS_PROXY="http://user:p%40ss\"word@proxy:3128"
NO_PROXY="localhost,127.0.0.1,169.254.169.254,.svc,.cluster.local,.hypershift.local,.internal,10.0.0.0/16,10.132.0.0/14,172.31.0.0/16,example.com"
SSL_CERT_DIR="/etc/kubernetes/trust:/etc/ssl/certs:/etc/pki/tls/certs"
`
	if diff := cmp.Diff(want, node.Files["/etc/kubernetes/environment"]); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if got := node.Files["/etc/kubernetes/trust/additional.crt"]; got != "more\nproxy\n" {
		t.Errorf("trust bundle: %q", got)
	}
	for _, unit := range []string{"containerd.service", "kubelet.service"} {
		if !strings.Contains(node.Units[unit+".d/90-hypershift.conf"], "EnvironmentFile=-/etc/kubernetes/environment") {
			t.Errorf("%s does not read the environment:\n%s", unit, node.Units[unit+".d/90-hypershift.conf"])
		}
	}
}

func TestTheConfigurationOfUsersReachesTheMachine(t *testing.T) {
	c := parse(t, kubeletText, machineText, mirrorText)
	node := read(t, stored(t, configured(c)), machine())
	if got := node.Files["/etc/kubernetes/kubelet.yaml"]; !strings.Contains(got, "\nmaxPods: 110\n") || !strings.Contains(got, "\nclusterDomain: cluster.local\n") {
		t.Errorf("configuration of the kubelet:\n%s", got)
	}
	if got := node.Files["/etc/sysctl.d/90-fast.conf"]; got != "net.core.somaxconn = 4096\n" {
		t.Errorf("file of the user: %q", got)
	}
	if got := node.Units["kubelet.service.d/50-nice.conf"]; got != "[Service]\nNice=-5\n" || node.Units["kubelet.service.d/90-hypershift.conf"] == "" {
		t.Errorf("drop-ins of the kubelet: %q", node.Units)
	}
	wantHosts := `server = "https://quay.io"

[host."https://mirror.example.com:5000"]
capabilities = ["pull"]

[host."https://other.example.com/v2/cache"]
capabilities = ["pull"]
override_path = true
`
	if diff := cmp.Diff(wantHosts, node.Files["/etc/containerd/certs.d/quay.io/hosts.toml"]); diff != "" {
		t.Errorf("mirrors (-want +got):\n%s", diff)
	}
}

// stored returns inputs that were written to a Secret and read again.
func stored(t *testing.T, in nodeconfig.Inputs) nodeconfig.Inputs {
	t.Helper()
	data, err := in.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := nodeconfig.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestTheLargestPartOfTooLargeUserDataIsNamed(t *testing.T) {
	noise := make([]byte, 14<<10)
	_, _ = rand.Read(noise)
	pem := []byte(base64.StdEncoding.EncodeToString(noise))

	in := inputs()
	in.Cluster.TrustBundle.Text = string(pem)
	_, err := nodeconfig.Render(in, machine())
	var tooLarge *nodeconfig.TooLargeError
	if !errors.As(err, &tooLarge) || tooLarge.Part != "the additional trust bundle" {
		t.Errorf("got %v", err)
	}

	c := parse(t, `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","spec":{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/huge","contents":{"source":"data:;base64,`+string(pem)+`"}}]}}}}`)
	_, err = nodeconfig.Render(configured(c), machine())
	if !errors.As(err, &tooLarge) || tooLarge.Part != "file /etc/huge" {
		t.Errorf("got %v", err)
	}
}

func TestPlainFilesOfUsersAreCompressed(t *testing.T) {
	long := strings.Repeat("net.core.somaxconn%20=%204096%0A", 1000)
	c := parse(t, `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","spec":{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/long","contents":{"source":"data:,`+long+`"}}]}}}}`)
	node := read(t, configured(c), machine())
	if got := node.Files["/etc/long"]; got != strings.Repeat("net.core.somaxconn = 4096\n", 1000) {
		t.Errorf("got %d bytes", len(got))
	}
}
