//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// TestInstallation upgrades and uninstalls the installation while a cluster exists. The upgrade must not disturb the
// cluster, and the removal must be refused.
func TestInstallation(t *testing.T) {
	begin(t)
	h := newHosted(t, "installed", on.Versions[0])
	h.create()
	h.available()
	h.eventually("all pods are ready", h.rolledOut)
	before, generation := h.identities(), h.hc.Generation
	asked := h.load()
	// The next scenario needs the installation in any case.
	t.Cleanup(func() { h.must(on.Install(context.WithoutCancel(t.Context()))) })

	started := time.Now()
	notes, err := on.Upgrade(t.Context(), "--reuse-values", "--set", "log.level=debug")
	h.must(err)
	t.Logf("%5.1f s  helm upgrade", time.Since(started).Seconds())
	h.requireWords(notes, "STATUS: deployed", "is installed in namespace "+hosting.Namespace, "`helm uninstall` is refused while HostedClusters exist")
	h.requireWords(h.helm("get values"), "level: debug", "privateLink: true", "bucket: ")
	h.requireWords(h.helm("get manifest"), "kind: PodDisruptionBudget")

	revision := h.revision("deployed")
	started = time.Now()
	out, err := on.Helm(t.Context(), "uninstall", hosting.Release, "--namespace", hosting.Namespace)
	if err == nil {
		t.Fatalf("hypershift was uninstalled although a cluster exists:\n%s", out)
	}
	t.Logf("%5.1f s  helm uninstall:\n%s", time.Since(started).Seconds(), out)
	h.requireWords(out, "HostedCluster "+h.hc.Namespace+"/"+h.hc.Name, "delete the HostedClusters and wait until they are gone")
	h.eventually("only the result of the request is left", h.noJobs)
	h.revision("uninstalling")
	h.helm("rollback", revision, "--wait")
	h.revision("deployed")
	h.requireWords(h.helm("get values"), "level: debug")

	// Wait until the new operator has reconciled the cluster.
	h.must(h.management.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: h.hc.Name + "-admin-kubeconfig"}}))
	h.available()
	h.must(h.rolledOut(t.Context()))
	if after := h.identities(); !maps.Equal(before, after) {
		t.Errorf("pods were replaced: before %v, after %v", before, after)
	}
	if h.hc.Generation != generation {
		t.Errorf("the HostedCluster was changed: its generation was %d and is %d", generation, h.hc.Generation)
	}
	asked.Stop()
	count := asked.Count()
	t.Logf("         meanwhile: %v", count)
	if count.Asked == 0 || count.Failed > 0 {
		t.Error("requests failed")
	}
}

// noJobs returns an error if Jobs, or pods of Jobs, exist in the operator's namespace.
func (h *hosted) noJobs(ctx context.Context) error {
	var jobs batchv1.JobList
	var pods corev1.PodList
	err := errors.Join(h.management.List(ctx, &jobs, client.InNamespace(hosting.Namespace)),
		h.management.List(ctx, &pods, client.InNamespace(hosting.Namespace), client.HasLabels{batchv1.JobNameLabel}))
	if err == nil && len(jobs.Items)+len(pods.Items) > 0 {
		return fmt.Errorf("there are %d Jobs and %d pods of Jobs", len(jobs.Items), len(pods.Items))
	}
	return err
}

// helm runs a command on the release of hypershift.
func (h *hosted) helm(command string, args ...string) string {
	h.t.Helper()
	out, err := on.Helm(h.t.Context(), append(append(strings.Fields(command), hosting.Release, "--namespace", hosting.Namespace), args...)...)
	h.must(err)
	return out
}

// revision fails the test unless the Helm release has that status, and returns its revision.
func (h *hosted) revision(status string) string {
	h.t.Helper()
	var release struct {
		Revision int
		Status   string
	}
	h.must(json.Unmarshal([]byte(h.helm("get metadata", "--output", "json")), &release))
	if release.Status != status {
		h.t.Errorf("the status of the Helm release is %s, want %s", release.Status, status)
	}
	return strconv.Itoa(release.Revision)
}

// identities returns the UIDs of the control plane pods, by name.
func (h *hosted) identities() map[string]types.UID {
	h.t.Helper()
	pods, err := h.pods(h.t.Context())
	h.must(err)
	all := map[string]types.UID{}
	for _, p := range pods {
		all[p.Name] = p.UID
	}
	return all
}

// requireWords fails the test unless the text contains all words.
func (h *hosted) requireWords(text string, words ...string) {
	h.t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			h.t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}
