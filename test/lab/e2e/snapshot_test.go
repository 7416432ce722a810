//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// TestSnapshots saves etcd of one cluster and restores it into another one, from a server with a certificate that only a
// CA of the user signs.
func TestSnapshots(t *testing.T) {
	begin(t)
	saved := newHosted(t, "saved", on.Versions[0])
	saved.create()
	saved.available()
	saved.kubectl("create configmap kept --from-literal=what=this")
	content, checksum := saved.snapshot()
	saved.kubectl("delete configmap kept")

	shelf := newShelf(t)
	shelf.put([]byte("not what it was"))
	restored := newHosted(t, "restored", on.Versions[0])
	restored.hc.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	restored.hc.Spec.Etcd.Managed.Storage.RestoreSnapshotURL = []hyperv1.SnapshotURL{hyperv1.SnapshotURL(shelf.URL + "/saved.db#sha256=" + checksum)}
	restored.trust(shelf.authority)
	restored.create()
	restored.waitForReport(hyperv1.EtcdAvailable, "False", "has the SHA-256 checksum", "but "+checksum+" is expected")

	shelf.put(content)
	restored.available()
	restored.eventually("all pods are ready", restored.rolledOut)
	if what := restored.kubectl("get configmap kept -o jsonpath={.data.what}"); what != "this" {
		t.Errorf("the restored value is %q", what)
	}
	restored.kubectl("create configmap new --from-literal=after=all")
}

// kubectl runs a command of the user, which must succeed, and returns its output.
func (h *hosted) kubectl(command string) string {
	h.t.Helper()
	out, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", strings.Fields(command)...)
	h.must(err)
	return out
}

// whole matches the checksum of a complete snapshot. It is printed last.
var whole = regexp.MustCompile(`"The snapshot is complete".*"sha256":\s*"([0-9a-f]{64})"`)

// snapshot saves etcd with the command in docs/etcd.md.
func (h *hosted) snapshot() (content []byte, checksum string) {
	h.t.Helper()
	save := exec.CommandContext(h.t.Context(), on.Programs["kubectl"], "--kubeconfig", on.Kubeconfig, "-n", h.namespace(),
		"exec", "deployment/"+names.ControlPlaneOperator, "--", "control-plane-operator", "etcd-snapshot")
	var out, output bytes.Buffer
	save.Stdout, save.Stderr = &out, &output
	if err := save.Run(); err != nil {
		h.t.Fatalf("saving etcd: %v\n%s", err, output.String())
	}
	match := whole.FindStringSubmatch(output.String())
	if match == nil {
		h.t.Fatalf("the snapshot is incomplete:\n%s", output.String())
	}
	h.t.Logf("a snapshot of %d bytes", out.Len())
	return out.Bytes(), match[1]
}

// trust makes the cluster trust a CA.
func (h *hosted) trust(bundle []byte) {
	h.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: h.hc.Name + "-authorities"}, Data: map[string]string{"ca-bundle.crt": string(bundle)}}
	h.must(h.management.Create(h.t.Context(), cm))
	h.t.Cleanup(func() { h.must(h.management.Delete(context.WithoutCancel(h.t.Context()), cm)) })
	h.hc.Spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: cm.Name}
}

// shelf is a server of one file, outside of the management cluster.
type shelf struct {
	*outside
	file atomic.Pointer[[]byte]
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{}
	s.outside = startOutside(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(*s.file.Load()) // the client may be gone
	})
	return s
}

func (s *shelf) put(content []byte) { s.file.Store(&content) }
