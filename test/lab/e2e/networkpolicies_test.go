//go:build e2e

package e2e

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// TestNetworkPolicies checks that the management cluster enforces NetworkPolicies. The attack scenarios rely on that.
func TestNetworkPolicies(t *testing.T) {
	begin(t)
	t.Run("metadata and the API server", testWhatAPodReaches)
	t.Run("cyclonus", testCyclonus)
}

// reach are requests from a pod, and a part of the response. Without a policy each of them gets a response, so that a
// missing response proves that the policy works.
var reach = map[string]struct{ address, port, request, want string }{
	"instance metadata":         {"169.254.169.254", "80", `PUT /latest/api/token HTTP/1.0\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\n\r\n`, "Token-Ttl-Seconds: 60"},
	"instance metadata, IPv6":   {"fd00:ec2::254", "80", `PUT /latest/api/token HTTP/1.0\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\n\r\n`, "Token-Ttl-Seconds: 60"},
	"credentials of ECS":        {"169.254.170.2", "80", `GET /v2/credentials/1 HTTP/1.0\r\n\r\n`, "AccessKeyId"},
	"credentials of EKS":        {"169.254.170.23", "80", `GET /v1/credentials HTTP/1.0\r\n\r\n`, "AccessKeyId"},
	"API server, its ClusterIP": {"kubernetes.default", "443", `GET / HTTP/1.0\r\n\r\n`, "HTTPS server"},
	"API server, its endpoint":  {cluster.APIServerAddress, "6443", `GET / HTTP/1.0\r\n\r\n`, "HTTPS server"},
}

// fencedEgress allows all addresses except the addresses of reach.
const fencedEgress = `[{to: [{namespaceSelector: {}}], ports: [{port: 53, protocol: UDP}, {port: 53}]}, {to: [
  {ipBlock: {cidr: 0.0.0.0/0, except: [169.254.0.0/16, ` + cluster.APIServerAddress + `/32]}}, {ipBlock: {cidr: "::/0", except: ["fd00:ec2::/32"]}}]}]`

func testWhatAPodReaches(t *testing.T) {
	client, err := kubernetes.NewForConfig(on.Config)
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "reach-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), namespace.Name, metav1.DeleteOptions{})
	})
	manifests := fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: fence, namespace: %[1]s}
spec: {podSelector: {matchLabels: {fenced: "true"}}, policyTypes: [Egress], egress: %[2]s}
---
apiVersion: v1
kind: Pod
metadata: {name: open, namespace: %[1]s}
spec: {containers: [{name: c, image: "%[3]s", command: [sleep, "3600"]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: fenced, namespace: %[1]s, labels: {fenced: "true"}}
spec: {containers: [{name: c, image: "%[3]s", command: [sleep, "3600"]}]}
`, namespace.Name, fencedEgress, on.Images["busybox"])
	if err := on.Apply(t.Context(), nil, manifests); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "wait", "-n", namespace.Name, "--for=condition=Ready", "--timeout=2m", "pod", "--all")
	for what, r := range reach {
		ask := fmt.Sprintf("printf '%s' | nc -w 3 %s %s 2>&1", r.request, r.address, r.port)
		if got := kubectl(t, "exec", "-n", namespace.Name, "open", "--", "sh", "-c", ask+" || true"); !strings.Contains(got, r.want) {
			t.Errorf("%s does not respond to a pod without a policy: %q", what, got)
		}
		if got := kubectl(t, "exec", "-n", namespace.Name, "fenced", "--", "sh", "-c", ask+" || true"); strings.Contains(got, r.want) {
			t.Errorf("%s responds to a pod in spite of the policy: %q", what, got)
		}
	}
}

// kubectl runs kubectl as an administrator of the management cluster and returns its output.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), on.Programs["kubectl"], append([]string{"--kubeconfig=" + on.Kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// imageOfCyclonus is the image of the pods of cyclonus.
const imageOfCyclonus = "e2e-test-images/agnhost:2.43"

// tagsOfCyclonus selects the cases that run on pods. The tests of test/lab/networkpolicy run all cases, in network
// namespaces; HYPERSHIFT_E2E_CYCLONUS=all runs them on pods too, which takes an hour or two.
var tagsOfCyclonus = []string{"conflict"}

// testCyclonus runs cyclonus. It applies policies to pods in several namespaces, and compares the connectivity with the
// expected one.
func testCyclonus(t *testing.T) {
	programs, err := pinned.Ensure(t.Context(), t.Output(), "cyclonus")
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := images.Push(t.Context(), images.Options{Registry: cluster.Registry, Progress: t.Output()}, images.Agnhost)
	if err != nil {
		t.Fatal(err)
	}
	if err := retag(t.Context(), pushed[images.Agnhost], cluster.Registry+"/"+imageOfCyclonus); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "cyclonus-")
	if err != nil {
		t.Fatal(err)
	}
	log, results := filepath.Join(dir, "log"), filepath.Join(dir, "junit.xml")
	args := []string{
		"generate", "--image-registry=" + cluster.Registry, "--junit-results-file=" + results,
		"--perturbation-wait-seconds=1", "--job-timeout-seconds=1", "--retries=4", "--pod-creation-timeout-seconds=180", "--ignore-loopback", "--cleanup-namespaces",
		"--exclude=",
	}
	if os.Getenv("HYPERSHIFT_E2E_CYCLONUS") == "all" {
		// Some kernels have no SCTP sockets.
		args = append(args, "--server-protocol=TCP,UDP", "--server-port=80,81")
	} else {
		// The policies of these cases are about all ports. Each connection is a kubectl exec: four ports take four times as long.
		args = append(args, "--include="+strings.Join(tagsOfCyclonus, ","), "--server-protocol=TCP", "--server-port=80")
	}
	if err := cyclonus(t.Context(), programs["cyclonus"], log, args); err != nil {
		t.Fatalf("cyclonus: %v; its log is %s", err, log)
	}
	text, err := os.ReadFile(results)
	if err != nil {
		t.Fatalf("cyclonus has no results: %v; its log is %s", err, log)
	}
	var suite struct {
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(text, &suite); err != nil {
		t.Fatal(err)
	}
	if len(suite.Cases) == 0 {
		t.Fatalf("cyclonus has run no case; its log is %s", log)
	}
	for _, c := range suite.Cases {
		if c.Failure != nil {
			t.Errorf("%s: see %s", c.Name, log)
		}
	}
	t.Logf("%d cases; the log is %s", len(suite.Cases), log)
}

func cyclonus(ctx context.Context, program, log string, args []string) error {
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+on.Kubeconfig)
	command.Stdout, command.Stderr = out, out
	return command.Run()
}

// retag adds a name to an image in the registry.
func retag(ctx context.Context, from, to string) error {
	source, err := name.ParseReference(from, name.Insecure)
	if err != nil {
		return err
	}
	image, err := remote.Image(source, remote.WithContext(ctx))
	if err != nil {
		return err
	}
	target, err := name.NewTag(to, name.Insecure)
	if err != nil {
		return err
	}
	return remote.Write(target, image, remote.WithContext(ctx))
}
