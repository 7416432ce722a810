//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// TestUpgrade upgrades a highly available cluster by one minor version during requests. Each component follows those that
// it depends on.
func TestUpgrade(t *testing.T) {
	begin(t)
	from, to := on.Versions[1], on.Versions[0]
	h := newHosted(t, "upgrade", from)
	h.hc.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	h.create()
	h.available()
	h.serves("v" + from)

	asked, staysAvailable := h.load(), h.staysAvailable()
	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = release(t, to) })
	h.eventually("the upgrade begins", func(context.Context) error {
		return h.history("Partial "+to, "Completed "+from)
	})
	h.eventually("the upgrade is complete", func(context.Context) error {
		return h.history("Completed "+to, "Completed "+from)
	})
	h.eventually("all pods are new", h.rolledOut)
	asked.Stop()
	count := asked.Count()
	t.Logf("during the upgrade from %s to %s: %v", from, to, count)
	if count.Asked == 0 || count.Percent() > 1 {
		t.Error("more than one percent of the requests failed")
	}
	h.serves("v" + to)
	staysAvailable()
	h.waitForCondition(hyperv1.HostedClusterAvailable, "True")
}

// serves fails the test unless the API server reports that version.
func (h *hosted) serves(version string) {
	h.t.Helper()
	out, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "get", "--raw", "/version")
	h.must(err)
	if want := fmt.Sprintf(`"gitVersion": %q`, version); !strings.Contains(out, want) {
		h.t.Errorf("/version is %s, want %s", out, want)
	}
}

// history compares the states and versions in the version history of the cluster, the newest first.
func (h *hosted) history(want ...string) error {
	if err := h.management.Get(h.t.Context(), key(h.hc), h.hc); err != nil {
		return err
	}
	var got []string
	for _, e := range ptr.Deref(h.hc.Status.Version, hyperv1.ClusterVersionStatus{}).History {
		got = append(got, state(e))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("the history is %v, not %v", got, want)
	}
	return nil
}

func state(e configv1.UpdateHistory) string { return fmt.Sprintf("%s %s", e.State, e.Version) }
