package nodeconfig_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// follower is a node with a real shell, and an API server that publishes authorities.
type follower struct {
	t      *testing.T
	root   string // the directory that is / to the script
	server *httptest.Server
	// signer signs the content of the ConfigMap.
	signer *pki.Signer
	// path is where the script finds programs.
	path string
	// published is the data of the ConfigMap, reported the annotations that the node has set.
	published, reported map[string]string
	// pullSecret is the answer of the API server to a request for the pull secret: the content, or a status.
	pullSecret string
	status     int
}

func newFollower(t *testing.T, by *pki.Signer) *follower {
	for _, program := range []string{"sh", "curl", "sed", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s on this machine", program)
		}
	}
	f := &follower{t: t, root: t.TempDir(), reported: map[string]string{}, status: http.StatusNotFound, signer: by, path: os.Getenv("PATH")}
	f.published = map[string]string{
		names.ServerAuthorities: string(by.Trust()), names.KubeletClientAuthorities: string(newSigner(t, "clients").Trust()), names.AuthoritiesRevision: "1", names.AuthoritiesSerial: "1",
	}
	node := issue(t, newSigner(t, "nodes"), pki.Request{User: "system:node:n", Usage: pki.Client})
	f.write("/var/lib/kubelet/pki/kubelet-client-current.pem", string(node.CertPEM)+string(node.KeyPEM))
	f.write("/etc/kubernetes/pki/ca.crt", f.published[names.ServerAuthorities])
	f.write("/etc/kubernetes/pki/kubelet-clients.crt", f.published[names.KubeletClientAuthorities])
	f.write("/run/hypershift/identity", "NODE_NAME=n")
	f.write("/etc/kubernetes/apiserver", "SERVER=unknown\nADDRESS=unknown\n")
	f.write("/bin/systemctl", "#!/bin/sh\necho \"$@\" >>"+f.root+"/systemctl\n")
	f.serve(by)
	return f
}

func newSigner(t *testing.T, name string) *pki.Signer {
	t.Helper()
	s, err := pki.NewSigner(name, "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func issue(t *testing.T, by *pki.Signer, r pki.Request) *pki.Leaf {
	t.Helper()
	leaf, err := by.Current.Issue(r, pki.DefaultTerms, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// serve starts the API server again, with a certificate of a signer.
func (f *follower) serve(by *pki.Signer) {
	f.t.Helper()
	if f.server != nil {
		f.server.Close()
	}
	leaf := issue(f.t, by, pki.Request{User: "kubernetes", Usage: pki.Server, Hosts: []string{"127.0.0.1"}})
	pair, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM)
	if err != nil {
		f.t.Fatal(err)
	}
	f.server = httptest.NewUnstartedServer(f)
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0) // a client that does not trust it hangs up
	f.server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
	f.server.StartTLS()
	f.t.Cleanup(f.server.Close)
	f.write("/etc/kubernetes/apiserver", "SERVER="+f.server.URL+"\nADDRESS="+f.server.Listener.Addr().String()+"\n")
}

func (f *follower) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /api/v1/namespaces/kube-public/configmaps/node-authorities":
		fields := map[string]any{"f:data": map[string]any{"f:" + names.ServerAuthorities: map[string]any{}}}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "ConfigMap", "data": f.published, "metadata": map[string]any{"managedFields": []any{fields}}})
	case "PATCH /api/v1/nodes/n":
		var patch struct {
			Metadata struct{ Annotations map[string]*string }
		}
		text, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(text, &patch); err != nil || r.Header.Get("Content-Type") != "application/merge-patch+json" {
			http.Error(w, fmt.Sprintf("%s: %v", text, err), http.StatusBadRequest)
			return
		}
		for key, value := range patch.Metadata.Annotations {
			if delete(f.reported, key); value != nil {
				f.reported[key] = *value
			}
		}
	case "GET /api/v1/namespaces/kube-system/secrets/hypershift-pull-secret":
		if f.status != 0 {
			http.Error(w, "no", f.status)
			return
		}
		fields := map[string]any{"f:data": map[string]any{".": map[string]any{}, "f:.dockerconfigjson": map[string]any{}}}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": "Secret", "metadata": map[string]any{"managedFields": []any{fields}}, "type": "kubernetes.io/dockerconfigjson",
			"data": map[string][]byte{".dockerconfigjson": []byte(f.pullSecret)},
		})
	default:
		http.NotFound(w, r)
	}
}

func (f *follower) write(path, content string) {
	f.t.Helper()
	path = filepath.Join(f.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

func (f *follower) read(path string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.root, path))
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	return string(text)
}

// sign signs the published ConfigMap, as the operator does.
func (f *follower) sign() {
	f.t.Helper()
	signature, err := f.signer.Current.Sign([]byte(names.SignedAuthorities(f.published)))
	if err != nil {
		f.t.Fatal(err)
	}
	f.published[names.AuthoritiesSignature] = base64.StdEncoding.EncodeToString(signature)
	if url := f.published[names.ServerURL]; url != "" {
		signature, err := f.signer.Current.Sign([]byte(names.SignedServer(url)))
		if err != nil {
			f.t.Fatal(err)
		}
		f.published[names.ServerURLSignature] = base64.StdEncoding.EncodeToString(signature)
	}
}

// follow runs the unit once for the published ConfigMap, and returns its log.
func (f *follower) follow() (string, error) {
	f.t.Helper()
	f.sign()
	return f.run()
}

func (f *follower) run() (string, error) {
	f.t.Helper()
	node := read(f.t, inputs(), machine())
	script := node.Files["/etc/kubernetes/authorities.sh"]
	for _, dir := range []string{"/etc/kubernetes/", "/var/lib/kubelet/", "/run/hypershift/"} {
		script = strings.ReplaceAll(script, dir, f.root+dir)
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(script, "run=/run/hypershift\n", "run="+f.root+"/run/hypershift\n"))
	run.Env = append([]string{"PATH=" + f.root + "/bin:" + f.path, f.read("/run/hypershift/identity")}, strings.Fields(f.read("/etc/kubernetes/apiserver"))...)
	output, err := run.CombinedOutput()
	return string(output), err
}

func (f *follower) must() {
	f.t.Helper()
	if output, err := f.follow(); err != nil || output != "" {
		f.t.Fatalf("it does not follow: %v: %s", err, output)
	}
	if got := f.reported[names.AuthoritiesAnnotation]; got != f.published[names.AuthoritiesRevision] {
		f.t.Errorf("the node reports that it has revision %q", got)
	}
}

// A rotation as a node sees it.
func TestANodeReplacesItsAuthoritiesByThoseOfTheCluster(t *testing.T) {
	old := newSigner(t, "root-ca")
	f := newFollower(t, old)
	f.must()
	if got := f.read("/systemctl"); got != "" {
		t.Errorf("the kubelet was disturbed although nothing has changed: %s", got)
	}

	next := newSigner(t, "root-ca")
	f.published[names.ServerAuthorities] += string(next.Trust())
	f.published[names.KubeletClientAuthorities] += string(newSigner(t, "clients").Trust())
	f.published[names.AuthoritiesRevision] = "2"
	f.must()
	f.must()
	if f.read("/etc/kubernetes/pki/ca.crt") != f.published[names.ServerAuthorities] || f.read("/etc/kubernetes/pki/kubelet-clients.crt") != f.published[names.KubeletClientAuthorities] {
		t.Error("the node does not believe the next ones")
	}
	if got := f.read("/systemctl"); got != "try-restart kubelet.service\n" {
		t.Errorf("the kubelet was not started again, or more than once: %q", got)
	}

	f.serve(next)
	f.signer = next
	f.must()
	f.published[names.ServerAuthorities], f.published[names.AuthoritiesRevision] = string(next.Trust()), "3"
	f.must()
	if f.read("/etc/kubernetes/pki/ca.crt") != string(next.Trust()) {
		t.Error("the node still believes the old one")
	}
}

// The kubelet looks itself by whom its clients are to be known.
func TestAnotherClientCADoesNotRestartTheKubelet(t *testing.T) {
	f := newFollower(t, newSigner(t, "root-ca"))
	f.published[names.KubeletClientAuthorities], f.published[names.AuthoritiesRevision] = string(newSigner(t, "clients").Trust()), "2"
	f.must()
	if f.read("/systemctl") != "" || f.read("/etc/kubernetes/pki/kubelet-clients.crt") != f.published[names.KubeletClientAuthorities] {
		t.Errorf("systemctl %s", f.read("/systemctl"))
	}
}

// No content of the ConfigMap costs the node its server.
func TestANodeKeepsItsAuthoritiesIfTheNewOnesCannotBeUsed(t *testing.T) {
	root := newSigner(t, "root-ca")
	for sentence, c := range map[string]struct{ key, text, want string }{
		"no text":                                   {names.ServerAuthorities, "", "server-ca.crt is no bundle"},
		"text without a certificate":                {names.ServerAuthorities, "garbage", "server-ca.crt is no bundle"},
		"half of a certificate":                     {names.ServerAuthorities, string(root.Trust()[:200]), "server-ca.crt is no bundle"},
		"an authority that did not sign the server": {names.ServerAuthorities, string(newSigner(t, "root-ca").Trust()), "curl: "},
		"a certificate that cannot be parsed":       {names.ServerAuthorities, "-----BEGIN CERTIFICATE-----\nxxxx\n-----END CERTIFICATE-----\n", "curl: "},
		"no clients":                                {names.KubeletClientAuthorities, "", "kubelet-client-ca.crt is no bundle"},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFollower(t, root)
			clients := f.published[names.KubeletClientAuthorities]
			f.published[c.key], f.published[names.AuthoritiesRevision] = c.text, "2"
			output, err := f.follow()
			if err == nil || !strings.Contains(output, c.want) {
				t.Errorf("%v: %s", err, output)
			}
			if f.reported[names.AuthoritiesAnnotation] != "" || f.read("/systemctl") != "" {
				t.Error("the node reports that it has taken it over")
			}
			if f.read("/etc/kubernetes/pki/ca.crt") != string(root.Trust()) || f.read("/etc/kubernetes/pki/kubelet-clients.crt") != clients {
				t.Error("the node has taken it over")
			}
		})
	}
}

// Roles that write ConfigMaps in kube-public are given to people without root permissions on every node.
func TestANodeAcceptsOnlyBundlesSignedByItsAuthority(t *testing.T) {
	root, clients := newSigner(t, "root-ca"), newSigner(t, "clients")
	theirs := string(newSigner(t, "clients").Trust())
	for sentence, c := range map[string]struct {
		how  func(f *follower)
		want string
	}{
		"an additional client authority without a signature": {how: func(f *follower) { f.published[names.KubeletClientAuthorities] += theirs }},
		"an additional server authority without a signature": {how: func(f *follower) { f.published[names.ServerAuthorities] += theirs }},
		"client authorities are added to the server authorities": {how: func(f *follower) {
			f.published[names.ServerAuthorities] += names.AuthoritiesSeparator + "\n" + f.published[names.KubeletClientAuthorities]
			f.published[names.KubeletClientAuthorities] = f.published[names.ServerAuthorities]
		}},
		"another revision and serial": {how: func(f *follower) {
			f.published[names.KubeletClientAuthorities] += theirs
			f.published[names.AuthoritiesRevision], f.published[names.AuthoritiesSerial] = "2", "99"
		}},
		"signed by another authority": {how: func(f *follower) {
			f.published[names.KubeletClientAuthorities] += theirs
			f.signer = newSigner(t, "root-ca")
			f.sign()
		}},
		"not signed at all": {how: func(f *follower) {
			f.published[names.KubeletClientAuthorities] += theirs
			delete(f.published, names.AuthoritiesSignature)
		}},
		"a signature with a shell command": {how: func(f *follower) {
			f.published[names.KubeletClientAuthorities] += theirs
			f.published[names.AuthoritiesSignature] = "$(reboot)"
		}},
		"no serial": {how: func(f *follower) {
			f.published[names.KubeletClientAuthorities] += theirs
			delete(f.published, names.AuthoritiesSerial)
			f.sign()
		}},
		"an older bundle": {want: "older than those of the node", how: func(f *follower) {
			f.published[names.KubeletClientAuthorities] += theirs // the key of these authorities may be known to others by now
			f.published[names.AuthoritiesSerial] = "6"
			f.sign()
		}},
		"signed, on an image without openssl": {how: func(f *follower) {
			f.published[names.KubeletClientAuthorities] += theirs
			f.published[names.AuthoritiesSerial] = "8"
			f.sign()
			for _, program := range []string{"sh", "curl", "sed", "cat", "mv", "touch", "rm"} {
				path, err := exec.LookPath(program)
				if err != nil {
					t.Fatal(err)
				}
				f.write("/bin/"+program, "#!/bin/sh\nexec "+path+" \"$@\"\n")
			}
			f.path = ""
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFollower(t, root)
			f.published[names.KubeletClientAuthorities], f.published[names.AuthoritiesSerial] = string(clients.Trust()), "7"
			f.must()
			before := f.published[names.KubeletClientAuthorities]
			c.how(f)
			output, err := f.run()
			if c.want == "" {
				c.want = "not signed by one that the node trusts"
			}
			if err == nil || !strings.Contains(output, c.want) {
				t.Errorf("%v: %s", err, output)
			}
			if f.read("/etc/kubernetes/pki/kubelet-clients.crt") != before || f.read("/etc/kubernetes/pki/ca.crt") != string(root.Trust()) {
				t.Error("whoever writes the ConfigMap decides who may command the kubelet")
			}
		})
	}
}

// An operator of an earlier version does not sign. Its nodes make no change, and report their authorities.
func TestANodeWithoutSignedBundleReportsItsAuthorities(t *testing.T) {
	f := newFollower(t, newSigner(t, "root-ca"))
	delete(f.published, names.AuthoritiesSerial)
	if output, err := f.run(); err != nil || output != "" || f.reported[names.AuthoritiesAnnotation] != "1" {
		t.Errorf("%v: %s: %v", err, output, f.reported)
	}
}

func TestANodeReportsThatItsServingCertificateIsSigned(t *testing.T) {
	f := newFollower(t, newSigner(t, "root-ca"))
	f.must()
	if got, reported := f.reported[names.ServingCertificateAnnotation]; reported {
		t.Errorf("reports %q before it has one", got)
	}
	f.write("/var/lib/kubelet/pki/kubelet-server-current.pem", "certificate and key")
	f.must()
	if f.reported[names.ServingCertificateAnnotation] == "" {
		t.Error("does not report its certificate")
	}
}

// A machine that loses power between the file and the kubelet starts a kubelet that has read the file.
func TestAFailedKubeletRestartIsRetried(t *testing.T) {
	root := newSigner(t, "root-ca")
	f := newFollower(t, root)
	f.published[names.ServerAuthorities], f.published[names.AuthoritiesRevision] = f.published[names.ServerAuthorities]+string(newSigner(t, "root-ca").Trust()), "2"
	systemctl := f.read("/bin/systemctl")
	f.write("/bin/systemctl", "#!/bin/sh\nexit 1\n")
	if output, err := f.follow(); err == nil || len(f.reported) > 0 {
		t.Errorf("the node reports that its kubelet has taken it over: %s", output)
	}
	f.write("/bin/systemctl", systemctl)
	f.must()
	if got := f.read("/systemctl"); got != "try-restart kubelet.service\n" {
		t.Errorf("the kubelet was not started again: %q", got)
	}
}

func TestAMachineThatHasNotJoinedSendsNoRequest(t *testing.T) {
	f := newFollower(t, newSigner(t, "root-ca"))
	f.server.Close()
	if err := os.Remove(filepath.Join(f.root, "/var/lib/kubelet/pki/kubelet-client-current.pem")); err != nil {
		t.Fatal(err)
	}
	if output, err := f.follow(); err != nil || output != "" {
		t.Errorf("%v: %s", err, output)
	}
}

// All nodes of a pool start together.
func TestNodesSendTheirRequestsAtRandomTimes(t *testing.T) {
	units := read(t, inputs(), machine()).Units
	for unit, lines := range map[string][]string{
		"hypershift-authorities.timer":   {"OnUnitActiveSec=5min\n", "RandomizedDelaySec=1min\n"},
		"hypershift-authorities.service": {"EnvironmentFile=/etc/kubernetes/apiserver\n", "EnvironmentFile=-/run/hypershift/identity\n", "EnvironmentFile=-/etc/kubernetes/environment\n"},
	} {
		for _, line := range lines {
			if !strings.Contains(units[unit], line) {
				t.Errorf("%s lacks %q:\n%s", unit, line, units[unit])
			}
		}
	}
}
