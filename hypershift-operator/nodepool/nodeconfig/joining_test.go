package nodeconfig_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// joiner is a machine with a real shell that does not join.
type joiner struct {
	*follower
	// statuses are the answers of the API server to one request each; the machine has its certificate after the last.
	statuses []int
	tokens   []string
}

func (j *joiner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	j.tokens = append(j.tokens, r.Header.Get("Authorization"))
	w.WriteHeader(j.statuses[0])
	if j.statuses = j.statuses[1:]; len(j.statuses) == 0 {
		j.write("/var/lib/kubelet/pki/kubelet-client-current.pem", "a certificate")
	}
}

// newJoiner is a machine that trusts one signer, and an API server with a certificate of another, or of the same.
func newJoiner(t *testing.T, trusted, signer *pki.Signer, statuses ...int) *joiner {
	j := &joiner{follower: newFollower(t, trusted), statuses: statuses}
	leaf := issue(t, signer, pki.Request{User: "kubernetes", Usage: pki.Server, Hosts: []string{"127.0.0.1"}})
	pair, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(j)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // a client that does not trust it hangs up
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	j.write("/etc/kubernetes/apiserver", "SERVER="+server.URL+"\n")
	j.write("/etc/kubernetes/bootstrap.kubeconfig", read(t, inputs(), machine()).Files["/etc/kubernetes/bootstrap.kubeconfig"])
	if err := os.Remove(j.root + "/var/lib/kubelet/pki/kubelet-client-current.pem"); err != nil {
		t.Fatal(err)
	}
	return j
}

// join runs the unit until the machine has joined, or for a time, and returns the console.
func (j *joiner) join(limit time.Duration) string {
	j.t.Helper()
	script := read(j.t, inputs(), machine()).Files["/etc/kubernetes/joining.sh"]
	for _, dir := range []string{"/etc/kubernetes/", "/var/lib/kubelet/"} {
		script = strings.ReplaceAll(script, dir, j.root+dir)
	}
	script = strings.Replace(script, "console=/dev/console interval=30", "console="+j.root+"/console interval=0.01", 1)
	script = strings.Replace(script, `>$console`, `>>$console`, 1) // a file is truncated, unlike a terminal
	ctx, cancel := context.WithTimeout(j.t.Context(), limit)
	defer cancel()
	run := exec.CommandContext(ctx, "sh", "-c", script)
	run.Env = append([]string{"PATH=" + j.root + "/bin:" + j.path}, strings.Fields(j.follower.read("/etc/kubernetes/apiserver"))...)
	run.WaitDelay = time.Second
	output, err := run.CombinedOutput()
	if len(output) > 0 || err != nil && ctx.Err() == nil {
		j.t.Errorf("%v: %s", err, output)
	}
	return strings.ReplaceAll(strings.TrimSpace(j.follower.read("/console")), "\n\n", "\n")
}

func TestAMachineReportsWhyItDoesNotJoin(t *testing.T) {
	ca := newSigner(t, "root-ca")
	j := newJoiner(t, ca, ca, http.StatusServiceUnavailable, http.StatusOK, http.StatusOK, http.StatusUnauthorized, http.StatusUnauthorized)
	want := `hypershift-node: reason=APIServerUnreachable message=the API server answers with status 503
hypershift-node: reason=APIServerReachable message=the API server answers, and the kubelet has no certificate yet
hypershift-node: reason=BootstrapTokenRefused message=the API server rejects the bootstrap token`
	if got := j.join(time.Minute); got != want {
		t.Errorf("the console has\n%s\nwant\n%s", got, want)
	}
	if want := "Bearer " + machine().Token; j.tokens[0] != want {
		t.Errorf("it authenticates with %q, want %q", j.tokens[0], want)
	}
}

func TestAMachineReportsThatItDoesNotReachTheAPIServer(t *testing.T) {
	ca := newSigner(t, "root-ca")
	for name, tc := range map[string]struct {
		signer *pki.Signer
		server string
		want   string
	}{
		"no server listens":     {server: "https://127.0.0.1:1", want: "reason=APIServerUnreachable message=there is no connection to the API server: https://127.0.0.1:1"},
		"the name is unknown":   {server: "https://api.demo.invalid:6443", want: "reason=APIServerNameUnknown message=the name of the API server cannot be resolved: https://api.demo.invalid:6443"},
		"it is another service": {signer: newSigner(t, "root-ca"), want: "reason=APIServerNotTrusted message=the certificate of the API server cannot be verified: "},
	} {
		t.Run(name, func(t *testing.T) {
			signer := ca
			if tc.signer != nil {
				signer = tc.signer
			}
			j := newJoiner(t, ca, signer)
			if tc.server != "" {
				j.write("/etc/kubernetes/apiserver", "SERVER="+tc.server+"\n")
			}
			if got := j.join(3 * time.Second); !strings.HasPrefix(got, "hypershift-node: "+tc.want) || strings.Contains(got, "\n") {
				t.Errorf("the console has\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// Before the kubelet runs, the cause is elsewhere, and its report is the last line of the console.
func TestAMachineWithoutAKubeletIsSilent(t *testing.T) {
	ca := newSigner(t, "root-ca")
	j := newJoiner(t, ca, ca)
	j.write("/bin/systemctl", "#!/bin/sh\nexit 3\n")
	if got := j.join(time.Second); got != "" {
		t.Errorf("the console has %s", got)
	}
}
