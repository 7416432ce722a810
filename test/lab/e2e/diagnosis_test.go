//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

// TestDiagnosis runs the commands that show and collect the state of a private cluster: while it starts, and when it runs. No value of any
// Secret may be in the dump.
func TestDiagnosis(t *testing.T) {
	begin(t)
	h := newHosted(t, "diagnosis", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
	h.create()
	h.eventually("the tree has a component that starts", func(ctx context.Context) error {
		out, code := h.hypershift(ctx, "describe", "cluster", h.hc.Name, "-n", h.hc.Namespace)
		if code != cli.Done || !strings.Contains(out, "ControlPlaneComponent") {
			return fmt.Errorf("exit code %d\n%s", code, out)
		}
		t.Logf("while it starts:\n%s", out)
		return nil
	})
	pools := h.poolPerZone(1)
	h.available()
	h.eventually("the node is ready", func(ctx context.Context) error { return h.poolReady(ctx, pools[0], 1) })
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	h.eventually("the tree has no problem", func(ctx context.Context) error {
		out, _ := h.hypershift(ctx, "describe", "cluster", h.hc.Name, "-n", h.hc.Namespace)
		if strings.Contains(out, "False") || !strings.Contains(out, "VPCEndpoint vpce-") || !strings.Contains(out, "Machine ") {
			return fmt.Errorf("the tree is\n%s", out)
		}
		t.Logf("when it runs:\n%s", out)
		return nil
	})
	t.Run("a forward reaches a private API server", func(t *testing.T) { h.forwards(t) })
	t.Run("doctor", func(t *testing.T) { h.examined(t) })
	t.Run("no secret is in the dump", func(t *testing.T) { h.dumped(t) })
	t.Run("consoles", func(t *testing.T) {
		dir := t.TempDir()
		if out, code := h.hypershift(t.Context(), "console-logs", "aws", h.hc.Name, "-n", h.hc.Namespace, "--output-dir", dir); code != cli.Done || !strings.Contains(out, "(running") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	t.Run("resources of a living cluster are not left over", func(t *testing.T) {
		out, code := h.hypershift(t.Context(), "leftovers", "aws")
		if code != cli.Done || !strings.Contains(out, h.hc.Spec.InfraID) || !strings.Contains(out, h.hc.Namespace+"/"+h.hc.Name) {
			t.Errorf("exit code %d\n%s", code, out)
		}
		t.Log(out)
		if out, code := h.hypershift(t.Context(), "leftovers", "aws", "--infra-id", h.hc.Spec.InfraID, "--delete", "--yes"); code != cli.Failed {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
}

// hypershift runs the command line like a user of the customer's AWS account, and returns both streams.
func (h *hosted) hypershift(ctx context.Context, args ...string) (string, int) {
	var out lockedBuffer
	env := operation.Environment{In: strings.NewReader(""), Out: &out, Err: &out, Clock: clock.RealClock{}, StateHome: h.t.TempDir(), Middleware: []func(*middleware.Stack) error{}}
	// Parallel tests cannot have variables of their own, and all customers of a run have the same emulator.
	commandLine.Lock()
	defer commandLine.Unlock()
	for _, variable := range append(on.AWS.Env(h.customer.Account), "KUBECONFIG="+on.Kubeconfig) {
		name, value, _ := strings.Cut(variable, "=")
		defer restore(name)()
		h.must(os.Setenv(name, value))
	}
	code := cli.Run(ctx, "hypershift", args, env)
	return out.String(), code
}

// commandLine protects the variables of the process.
var commandLine sync.Mutex

func restore(name string) func() {
	before, found := os.LookupEnv(name)
	return func() {
		if !found {
			_ = os.Unsetenv(name)
			return
		}
		_ = os.Setenv(name, before)
	}
}

// lockedBuffer is read while a command writes to it.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// forwards runs kubectl through a forwarded port, while the forward is in the background.
func (h *hosted) forwards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		out, code := h.hypershift(ctx, "create", "kubeconfig", h.hc.Name, "-n", h.hc.Namespace, "--port-forward", "--output-file", path)
		ended <- fmt.Sprintf("exit code %d\n%s", code, out)
	}()
	defer func() {
		stop()
		select {
		case out := <-ended:
			t.Log(out)
		case <-time.After(commandPatience):
			t.Error("the forward does not end")
		}
	}()
	h.eventually("kubectl lists the node", func(ctx context.Context) error {
		out, err := on.Kubectl(ctx, path, "", "get", "nodes")
		if err != nil || !strings.Contains(out, " Ready") {
			return fmt.Errorf("%w\n%s", err, out)
		}
		t.Log(out)
		return nil
	})
}

// examined checks that no prerequisite of the lab is reported as failed that is there. Neither the bucket nor the issuer can be reached
// from here by their names.
func (h *hosted) examined(t *testing.T) {
	out, code := h.hypershift(t.Context(), "doctor", h.hc.Name, "-n", h.hc.Namespace)
	t.Logf("exit code %d\n%s", code, out)
	for _, want := range []string{"passed   CRDs", "passed   Operator:", "passed   Load balancers", "passed   Trust policies", "   Images"} {
		if !strings.Contains(out, want) {
			t.Errorf("the result lacks %q", want)
		}
	}
	// TestMistakes, which may run at the same time, uses an image that does not exist.
	if strings.Contains(out, "(pod "+h.namespace()+"/") {
		t.Error("an image of this cluster is reported as missing")
	}
	out, _ = h.hypershift(t.Context(), "doctor", "-o", "json")
	var results []map[string]string
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&results); err != nil || len(results) < 10 {
		t.Errorf("%d results: %v\n%s", len(results), err, out)
	}
}

// dumped searches the dump for every value of every Secret of the cluster.
func (h *hosted) dumped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dump")
	out, code := h.hypershift(t.Context(), "dump", "cluster", h.hc.Name, "-n", h.hc.Namespace, "--artifact-dir", dir)
	if code != cli.Done {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	t.Log(out)
	values := map[string]string{}
	for _, namespace := range []string{h.namespace(), h.hc.Namespace} {
		secrets := &corev1.SecretList{}
		h.must(h.management.List(t.Context(), secrets, client.InNamespace(namespace)))
		for _, s := range secrets.Items {
			for key, value := range s.Data {
				// A certificate is public, and a short value is no secret.
				if text := strings.TrimSpace(string(value)); len(text) >= 16 && !strings.HasPrefix(text, "-----BEGIN CERT") && !strings.HasPrefix(text, "-----BEGIN PUBLIC") {
					values[text] = s.Name + "/" + key
				}
			}
		}
	}
	if len(values) < 10 {
		t.Fatalf("only %d values to look for", len(values))
	}
	files, size := 0, 0
	h.must(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files, size = files+1, size+len(text)
		for value, name := range values {
			if bytes.Contains(text, []byte(value)) {
				t.Errorf("%s has the value of %s", path, name)
			}
		}
		if bytes.Contains(text, []byte("PRIVATE KEY-----")) {
			t.Errorf("%s has a private key", path)
		}
		return err
	}))
	for _, name := range []string{"conditions.txt", "management/namespaces/" + h.namespace() + "/pods", "management/namespaces/" + h.namespace() + "/logs", "hosted/cluster/nodes", "hosted/namespaces/kube-system/pods", "aws/resources.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	problems, err := os.ReadFile(filepath.Join(dir, "problems.txt"))
	h.must(err)
	t.Logf("%d files, %d KiB; what could not be read:\n%s", files, size>>10, problems)
}
