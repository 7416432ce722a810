//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
	"github.com/hosted-control-planes/hypershift/test/lab/load"
)

// TestKeys enables encryption in a highly available cluster, and then rotates the key, while requests read all its
// Secrets.
func TestKeys(t *testing.T) {
	begin(t)
	h := newHosted(t, "keys", on.Versions[0])
	h.hc.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	h.create()
	h.available()
	count := h.passwords(50)

	asked, err := load.StartAt(t.Context(), h.kubeconfig, "/api/v1/secrets")
	h.must(err)
	t.Cleanup(asked.Stop)
	first := h.key("keys-first")
	h.encryptWith("keys-first", first)
	h.requireOnlyKey(first)
	second := h.key("keys-second")
	h.encryptWith("keys-second", second)
	h.requireOnlyKey(second)
	asked.Stop()

	result := asked.Count()
	t.Logf("while the key changed twice: %v", result)
	if result.Asked == 0 || result.Failed > 0 {
		t.Errorf("reads of Secrets failed: %v", result)
	}
	if now := h.read(); now < count {
		t.Errorf("%d Secrets can be read with the remaining key, want %d", now, count)
	}
}

// key creates a Secret with a key in the namespace of the HostedCluster, and returns the fingerprint.
func (h *hosted) key(name string) string {
	h.t.Helper()
	bytes := make([]byte, 32)
	_, err := rand.Read(bytes)
	h.must(err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: name}, Data: map[string][]byte{"key": bytes}}
	h.must(h.management.Create(h.t.Context(), secret))
	h.t.Cleanup(func() { h.must(h.management.Delete(context.WithoutCancel(h.t.Context()), secret)) })
	return secretencryption.Fingerprint(bytes)
}

// encryptWith sets the key, and waits until it is the only one in use. It logs when each phase began.
func (h *hosted) encryptWith(secret, fingerprint string) {
	h.t.Helper()
	began := time.Now()
	h.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: secret}}}
	})
	last := ""
	for deadline := began.Add(20 * time.Minute); ; pause(h.t.Context(), time.Second) {
		h.must(h.management.Get(h.t.Context(), key(h.hc), h.hc))
		c := meta.FindStatusCondition(h.hc.Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate)
		if c == nil || c.ObservedGeneration < h.hc.Generation {
			continue
		}
		if c.Reason != last {
			last = c.Reason
			h.t.Logf("%.1f s: %s: %s", time.Since(began).Seconds(), c.Reason, c.Message)
		}
		if st := h.hc.Status.SecretEncryption; c.Status == metav1.ConditionTrue && st != nil && st.ActiveKey != nil && st.ActiveKey.AESCBC != nil && st.ActiveKey.AESCBC.DataHash == fingerprint {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%s is not the only key in use: %+v", secret, c)
		}
	}
}

// requireOnlyKey fails the test unless the API servers have that key and no other.
func (h *hosted) requireOnlyKey(fingerprint string) {
	h.t.Helper()
	config := &corev1.Secret{}
	h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: "kas-secret-encryption"}, config))
	text := string(config.Data["config.yaml"])
	if strings.Count(text, "name: key-") != 1 || !strings.Contains(text, "name: key-"+fingerprint) {
		h.t.Errorf("key %s is not the only one in the configuration", fingerprint)
	}
	h.eventually("every API server has it", h.rolledOut)
}

// user is a client of the hosted cluster.
func (h *hosted) user() client.Client {
	h.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig)
	h.must(err)
	c, err := client.New(config, client.Options{})
	h.must(err)
	return c
}

// passwords creates Secrets, and returns how many exist then.
func (h *hosted) passwords(count int) int {
	h.t.Helper()
	for i := range count {
		h.must(h.user().Create(h.t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("password-%d", i)}, StringData: map[string]string{"password": "open sesame"},
		}))
	}
	return h.read()
}

// read counts the Secrets that can be read from etcd, not from a cache.
func (h *hosted) read() int {
	h.t.Helper()
	list := &corev1.SecretList{}
	h.must(h.user().List(h.t.Context(), list))
	return len(list.Items)
}
