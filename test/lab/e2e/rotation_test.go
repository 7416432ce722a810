//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// followOften returns a configuration with which machines check the trusted CAs every few seconds: a timer of the user in
// addition to the operator's timer, which users cannot change.
func (h *hosted) followOften() string {
	h.t.Helper()
	const config = `
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: follow-often}
spec:
  config:
    ignition: {version: 3.2.0}
    systemd:
      units:
      - name: follow-often.timer
        enabled: true
        contents: "[Timer]\nUnit=hypershift-authorities.service\nOnActiveSec=10s\nOnUnitActiveSec=10s\n[Install]\nWantedBy=timers.target\n"
`
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: h.hc.Name + "-follow-often"}, Data: map[string]string{"config": config}}
	h.must(h.management.Create(h.t.Context(), cm))
	h.t.Cleanup(func() { h.must(h.management.Delete(context.WithoutCancel(h.t.Context()), cm)) })
	return cm.Name
}

// rotate rotates all CAs, and waits until the old ones are no longer trusted.
func (h *hosted) rotate() {
	h.t.Helper()
	began := time.Now()
	asked := began.Format(time.RFC3339)
	before := map[string][]byte{}
	for _, name := range []string{names.RootCA, names.KubeletClientSigner} {
		secret, err := h.signer(h.t.Context(), name)
		h.must(err)
		before[name] = secret.Data[corev1.TLSCertKey]
	}
	h.change(func(hc *hyperv1.HostedCluster) { hc.Annotations[hyperv1.RotateCertificatesAnnotation] = asked })
	for _, step := range []struct {
		what    string
		trusted int
		signs   bool
	}{{"the next authorities are introduced", 2, false}, {"they sign", 2, true}, {"the old ones are not trusted any more", 1, true}} {
		h.eventually(step.what, func(ctx context.Context) error {
			for name, old := range before {
				secret, err := h.signer(ctx, name)
				if err != nil {
					return err
				}
				trusted, err := pki.ParseBundle(secret.Data[pki.TrustKey])
				if err != nil {
					return err
				}
				if signs := !bytes.Equal(secret.Data[corev1.TLSCertKey], old); len(trusted) != step.trusted || signs != step.signs {
					return fmt.Errorf("%s: %d CAs are trusted, the new one signs: %t; %s", name, len(trusted), signs, h.waitsFor(ctx))
				}
			}
			return nil
		})
		h.t.Logf("%.1f s: %s", time.Since(began).Seconds(), step.what)
	}
	h.eventually("its API is reachable", func(ctx context.Context) (err error) {
		h.kubeconfig, err = on.AdminKubeconfig(ctx, key(h.hc))
		return err
	})
	h.eventually("nodes trust only the new CAs, and send heartbeats", h.nodesFollow)
	h.t.Logf("%.1f s: nodes trust only the new CAs, and send heartbeats", time.Since(began).Seconds())
}

func (h *hosted) signer(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, certsecret.Get(ctx, h.management, client.ObjectKey{Namespace: h.namespace(), Name: name}, secret)
}

// setCertificate replaces a certificate, in its own Secret or in a shared one. Without data it is removed.
func (h *hosted) setCertificate(name string, data map[string][]byte) {
	h.t.Helper()
	secret, prefix := &corev1.Secret{}, ""
	err := h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: certsecret.SharedBy(name)}, secret)
	if err == nil {
		prefix = certsecret.Key(name, "")
	} else {
		h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: name}, secret))
	}
	maps.DeleteFunc(secret.Data, func(key string, _ []byte) bool { return strings.HasPrefix(key, prefix) })
	for key, value := range data {
		secret.Data[prefix+key] = value
	}
	h.must(h.management.Update(h.t.Context(), secret))
}

// waitsFor returns the state of a rotation, for the message of a failure.
func (h *hosted) waitsFor(ctx context.Context) string {
	list := &hyperv1.ControlPlaneComponentList{}
	if err := h.management.List(ctx, list, client.InNamespace(h.namespace())); err != nil {
		return err.Error()
	}
	output := []string{}
	for _, c := range list.Items {
		for _, condition := range c.Status.Conditions {
			if condition.Status != metav1.ConditionTrue {
				output = append(output, c.Name+": "+condition.Message)
			}
		}
	}
	if err := h.management.Get(ctx, key(h.hc), h.hc); err != nil {
		return err.Error()
	}
	for _, condition := range h.hc.Status.Conditions {
		if condition.Type == hyperv1.ConfigOperatorReconciliationSucceeded {
			output = append(output, condition.Message)
		}
	}
	return strings.Join(output, "; ")
}

// nodesFollow returns an error if a node has not applied the current CAs, or has not sent a heartbeat since.
func (h *hosted) nodesFollow(ctx context.Context) error {
	revision, err := on.Kubectl(ctx, h.kubeconfig, "", "get", "configmap", names.NodeAuthorities, "-n", metav1.NamespacePublic, "-o", "jsonpath={.data."+names.AuthoritiesRevision+"}")
	if err != nil {
		return err
	}
	followed, err := on.Kubectl(ctx, h.kubeconfig, "", "get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations.hypershift\.openshift\.io/authorities}{"\n"}{end}`)
	if err != nil {
		return err
	}
	beats, err := on.Kubectl(ctx, h.kubeconfig, "", "get", "leases", "-n", corev1.NamespaceNodeLease, "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.renewTime}{"\n"}{end}`)
	if err != nil {
		return err
	}
	for line := range strings.Lines(followed) {
		node, has, _ := strings.Cut(strings.TrimSpace(line), " ")
		if has != revision {
			return fmt.Errorf("node %s has %q, not %q", node, has, revision)
		}
		_, rest, _ := strings.Cut(beats, node+" ")
		beat, _, _ := strings.Cut(rest, "\n")
		at, err := time.Parse(time.RFC3339Nano, beat)
		if err != nil {
			return fmt.Errorf("reading the Lease of node %s: %w", node, err)
		}
		if time.Since(at) > heartbeat {
			return fmt.Errorf("the last heartbeat of node %s was at %s", node, beat)
		}
	}
	return nil
}

// heartbeat is a little more than the ten seconds between two heartbeats of a kubelet.
const heartbeat = 15 * time.Second
