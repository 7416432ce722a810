package nodeconfig_test

import (
	"crypto/tls"
	"encoding/base64"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// kubeconfig is the kubeconfig that a kubelet writes when it has joined.
const kubeconfig = `apiVersion: v1
clusters:
- cluster:
    certificate-authority: /etc/kubernetes/pki/ca.crt
    server: %SERVER%
  name: default-cluster
`

// newMover is a node with a kubelet, and a second address of its API server with a certificate of a signer.
func newMover(t *testing.T, by, there *pki.Signer) (f *follower, second string) {
	f = newFollower(t, by)
	f.write("/var/lib/kubelet/kubeconfig", strings.ReplaceAll(kubeconfig, "%SERVER%", f.server.URL))
	return f, f.listen(there).URL
}

// listen starts the API server at another address.
func (f *follower) listen(by *pki.Signer) *httptest.Server {
	f.t.Helper()
	leaf := issue(f.t, by, pki.Request{User: "kubernetes", Usage: pki.Server, Hosts: []string{"127.0.0.1"}})
	pair, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM)
	if err != nil {
		f.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(f)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	f.t.Cleanup(server.Close)
	return server
}

// uses fails unless kubelet, pods and the script use an address, and the node reports it.
func (f *follower) uses(url string) {
	f.t.Helper()
	if got, want := f.read("/var/lib/kubelet/kubeconfig"), strings.ReplaceAll(kubeconfig, "%SERVER%", url); got != want {
		f.t.Errorf("the kubelet has\n%s\nnot\n%s", got, want)
	}
	if got, want := f.read("/etc/kubernetes/apiserver"), "SERVER="+url+"\nADDRESS="+strings.TrimPrefix(url, "https://")+"\n"; got != want {
		f.t.Errorf("pods and the script use\n%s\nnot\n%s", got, want)
	}
	if got := f.reported[names.ServerAnnotation]; got != url {
		f.t.Errorf("the node reports %q, not %q", got, url)
	}
}

func TestANodeFollowsTheAddressOfTheAPIServer(t *testing.T) {
	root := newSigner(t, "root-ca")
	f, second := newMover(t, root, root)
	first := f.server.URL
	f.must()
	f.uses(first)
	f.published[names.ServerURL] = first
	f.must()
	f.uses(first)
	if got := f.read("/systemctl"); got != "" {
		t.Errorf("a node restarts something although its address has not changed: %s", got)
	}

	f.published[names.ServerURL] = second
	f.must()
	f.uses(second)
	f.server.Close() // the former address is removed
	f.must()
	f.uses(second)
	if got := f.read("/systemctl"); got != "try-restart kubelet.service\ntry-restart hypershift-apiserver.service\n" {
		t.Errorf("restarted\n%s", got)
	}
}

// The kubelet of a node without a proxy uses the address that the node forwards: only the forwarder restarts.
func TestAKubeletThatUsesTheForwarderIsNotRestarted(t *testing.T) {
	root := newSigner(t, "root-ca")
	f, second := newMover(t, root, root)
	forwarded := strings.ReplaceAll(kubeconfig, "%SERVER%", "https://172.20.0.1:6443")
	f.write("/var/lib/kubelet/kubeconfig", forwarded)
	f.published[names.ServerURL] = second
	f.must()
	if got := f.read("/var/lib/kubelet/kubeconfig"); got != forwarded {
		t.Errorf("the kubelet has\n%s", got)
	}
	if got := f.read("/systemctl"); got != "try-restart hypershift-apiserver.service\n" {
		t.Errorf("restarted\n%s", got)
	}
	if got := f.reported[names.ServerAnnotation]; got != second {
		t.Errorf("the node reports %q", got)
	}
}

func TestANodeGoesBackToItsFormerAddress(t *testing.T) {
	root := newSigner(t, "root-ca")
	f, second := newMover(t, root, root)
	first := f.server.URL
	for _, url := range []string{second, first} {
		f.published[names.ServerURL] = url
		f.must()
		f.uses(url)
	}
}

// Each of these would cost the node its connection, or let someone else choose its API server.
func TestANodeKeepsItsAddressIfTheNewOneCannotBeUsed(t *testing.T) {
	root, other := newSigner(t, "root-ca"), newSigner(t, "root-ca")
	for sentence, c := range map[string]struct {
		how  func(f *follower, second string)
		want string
	}{
		"no server listens there":    {func(f *follower, _ string) { f.published[names.ServerURL] = "https://127.0.0.1:1" }, "does not answer at https://127.0.0.1:1"},
		"its name does not exist":    {func(f *follower, _ string) { f.published[names.ServerURL] = "https://api.demo.invalid:6443" }, "does not answer"},
		"another API server answers": {func(f *follower, _ string) { f.published[names.ServerURL] = f.listen(other).URL }, "does not answer"},
		"its certificate is for another host name": {func(f *follower, second string) {
			f.published[names.ServerURL] = strings.Replace(second, "127.0.0.1", "localhost", 1)
		}, "does not answer"},
		"a URL without TLS": {func(f *follower, second string) {
			f.published[names.ServerURL] = strings.Replace(second, "https", "http", 1)
		}, "is no address"},
		"a command":                      {func(f *follower, second string) { f.published[names.ServerURL] = second + "/$(reboot)" }, "is no address"},
		"another line in the kubeconfig": {func(f *follower, second string) { f.published[names.ServerURL] = second + "|\\1|e" }, "is no address"},
		"it is signed by another authority": {func(f *follower, second string) {
			f.published[names.ServerURL] = second
			signature, err := other.Current.Sign([]byte(names.SignedServer(second)))
			if err != nil {
				t.Fatal(err)
			}
			f.published[names.ServerURLSignature] = base64.StdEncoding.EncodeToString(signature)
		}, "is not signed"},
		"it is not signed": {func(f *follower, second string) {
			f.published[names.ServerURL] = second
			delete(f.published, names.ServerURLSignature)
		}, "is not signed"},
		"it has the signature of the authorities": {func(f *follower, second string) {
			f.published[names.ServerURL] = second
			f.published[names.ServerURLSignature] = f.published[names.AuthoritiesSignature]
		}, "is not signed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			f, second := newMover(t, root, root)
			first := f.server.URL
			f.must()
			c.how(f, second)
			if f.published[names.ServerURLSignature] == "" && !strings.Contains(c.want, "signed") {
				f.sign()
			}
			said, err := f.run()
			if err == nil || !strings.Contains(said, c.want) {
				t.Errorf("%v: %s", err, said)
			}
			f.uses(first)
			if got := f.read("/systemctl"); got != "" {
				t.Errorf("the node restarts\n%s", got)
			}

			f.published[names.ServerURL] = second // repaired
			f.must()
			f.uses(second)
		})
	}
}

// A machine that loses power after it has written the file starts with it. A machine that could not restart its kubelet tries again.
func TestAFailedRestartAfterAChangeOfTheAddressIsRetried(t *testing.T) {
	root := newSigner(t, "root-ca")
	f, second := newMover(t, root, root)
	f.must()
	f.published[names.ServerURL] = second
	systemctl := f.read("/bin/systemctl")
	f.write("/bin/systemctl", "#!/bin/sh\nexit 1\n")
	if said, err := f.follow(); err == nil || f.reported[names.ServerAnnotation] == second {
		t.Errorf("the node reports the address although its kubelet does not use it: %s", said)
	}
	f.write("/bin/systemctl", systemctl)
	f.must()
	f.uses(second)
	if got := f.read("/systemctl"); got != "try-restart kubelet.service\ntry-restart hypershift-apiserver.service\n" {
		t.Errorf("restarted\n%s", got)
	}
}
