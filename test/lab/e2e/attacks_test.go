//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// TestAttacks attempts to take over, reach or stop a hosted cluster of another tenant. Every attempt must be rejected or
// have no effect. Attackers are:
//
//	other pod      a pod in a namespace that does not belong to the cluster          attacks_network_test.go
//	control plane  a pod of the control plane namespace that runs code of an attacker     attacks_network_test.go, attacks_permissions_test.go
//	tenant         a user that may write HostedClusters and Secrets in one namespace      attacks_inputs_test.go
//	guest          an administrator of the hosted cluster                                 attacks_guest_test.go
//	node           root on one worker                                                     attacks_guest_test.go
//
// Attacks that need more than one hosted cluster or a race are tested elsewhere: encryption keys in TestKeys, the endpoint of another
// cluster in TestSharedRouter, many connections in control-plane-operator/routerreload, the restore
// of etcd in control-plane-operator/etcd, AWS endpoints that do not respond in internal/awsx.
func TestAttacks(t *testing.T) {
	begin(t)
	h := newHosted(t, "attacked", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	h.create()
	pool := h.nodePool("workers", 2)
	h.must(h.management.Create(t.Context(), pool))
	h.available()
	h.eventually("both machines are nodes", func(ctx context.Context) error { return h.poolReady(ctx, pool, 2) })

	for _, attack := range []struct {
		name string
		run  func(*hosted)
	}{
		{"a pod of another namespace drains the router", (*hosted).attackDrain},
		{"a pod of another namespace reaches etcd and its metrics", (*hosted).attackEtcd},
		{"a control plane pod takes the identity of its node", (*hosted).attackMetadata},
		{"a control plane pod reaches the management API server", (*hosted).attackManagementAPI},
		{"a control plane pod reads the metrics of the operator", (*hosted).attackMetrics},
		{"cluster-api reads Secrets of others", (*hosted).attackSecrets},
		{"a control-plane-operator captures traffic and removes its fence", (*hosted).attackNamespace},
		{"a tenant labels its pods as trusted", (*hosted).attackLabels},
		{"a tenant runs a program in the API server", (*hosted).attackKubeconfig},
		{"a tenant preempts other tenants", (*hosted).attackPriority},
		{"a tenant leaves konnectivity out of the release", (*hosted).attackKonnectivity},
		{"a tenant downgrades the control plane", (*hosted).attackDowngrade},
		{"a guest scans the management network", (*hosted).attackWebhook},
		{"a guest mints the identity of the operators", (*hosted).attackIdentity},
		{"a bootstrap token requests the certificate of another node", func(h *hosted) { h.attackNodeIdentity(pool) }},
		{"a node serves with a certificate of its own making", (*hosted).attackKubelet},
	} {
		t.Run(attack.name, func(t *testing.T) {
			attempt := *h
			attempt.t = t
			attack.run(&attempt)
		})
	}
	h.waitForCondition(hyperv1.HostedClusterAvailable, "True")
	runAll(t, h.kubeconfig, onNodes(on.Images["busybox"]))
}

// attemptTime is how long an attack has to take effect. It is longer than the operators need for a change of a
// HostedCluster.
const attemptTime = 20 * time.Second

// attempt changes the HostedCluster, and reports whether the API server accepted it. The error of a rejected value must
// contain the words.
func (h *hosted) attempt(edit func(*hyperv1.HostedCluster), words ...string) (accepted bool) {
	h.t.Helper()
	var refusal error
	h.eventually("the API server has responded", func(ctx context.Context) error {
		if err := h.management.Get(ctx, client.ObjectKeyFromObject(h.hc), h.hc); err != nil {
			return err
		}
		edit(h.hc)
		err := h.management.Update(ctx, h.hc)
		if apierrors.IsInvalid(err) {
			refusal, err = err, nil
		}
		return err
	})
	if refusal == nil {
		return true
	}
	for _, w := range words {
		if !strings.Contains(refusal.Error(), w) {
			h.t.Errorf("the error of the API server lacks %q: %v", w, refusal)
		}
	}
	h.t.Logf("refused: %v", refusal)
	return false
}

// refused waits until a condition of the HostedCluster is False and its message contains the words. If this does not
// happen, it fails the test, but does not end it, so that the effect of the attack is checked as well.
func (h *hosted) refused(condition string, words ...string) {
	h.t.Helper()
	var last *metav1.Condition
	ok := h.within(attemptTime, func() bool {
		if err := h.management.Get(h.t.Context(), client.ObjectKeyFromObject(h.hc), h.hc); err != nil {
			return false
		}
		last = meta.FindStatusCondition(h.hc.Status.Conditions, condition)
		if last == nil || last.Status != metav1.ConditionFalse {
			return false
		}
		for _, w := range words {
			if !strings.Contains(last.Message, w) {
				return false
			}
		}
		return true
	})
	if !ok {
		h.t.Errorf("the value is not rejected: %s is %+v, want False with %q", condition, last, words)
		return
	}
	h.t.Logf("refused: %s: %s", condition, last.Message)
}

// never fails the test if something happens within the time of an attempt.
func (h *hosted) never(what string, happened func() bool) {
	h.t.Helper()
	if h.within(attemptTime, happened) {
		h.t.Errorf("%s", what)
	}
}

// within reports whether something becomes true in time.
func (h *hosted) within(limit time.Duration, check func() bool) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); pause(h.t.Context(), 500*time.Millisecond) {
		if check() {
			return true
		}
	}
	return false
}

// restore reverts a change of the HostedCluster and waits until the control plane is as before.
func (h *hosted) restore(edit func(*hyperv1.HostedCluster)) {
	h.t.Helper()
	h.change(edit)
	h.waitForCondition(hyperv1.ValidHostedClusterConfiguration, "True")
	h.waitForCondition(hyperv1.ValidReleaseImage, "True")
	h.eventually("all pods are ready", h.rolledOut)
	h.waitForCondition(hyperv1.HostedClusterAvailable, "True")
}

// podOf returns the first pod of the control plane with a value of label "app".
func (h *hosted) podOf(app string) *corev1.Pod {
	h.t.Helper()
	pods, err := h.pods(h.t.Context())
	h.must(err)
	for i := range pods {
		if pods[i].Labels["app"] == app && pods[i].Status.PodIP != "" {
			return &pods[i]
		}
	}
	h.t.Fatalf("there is no pod with label app=%s", app)
	return nil
}

// reachable reports whether new connections of users reach the API server.
func (h *hosted) reachable() error {
	for range 3 {
		out, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "get", "--raw", "/readyz")
		if err != nil || out != "ok" {
			return fmt.Errorf("the hosted API server answers %q: %w", out, err)
		}
	}
	return nil
}

// asAccount is the user name of a service account of the control plane namespace.
func (h *hosted) asAccount(name string) string {
	return "system:serviceaccount:" + h.namespace() + ":" + name
}
