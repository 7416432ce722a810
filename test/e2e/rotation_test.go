//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// followOften makes a configuration of machines that ask every few seconds whom to believe, as users change any other unit.
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
      - name: hypershift-authorities.timer
        dropins:
        - {name: 50-often.conf, contents: "[Timer]\nOnActiveSec=\nOnActiveSec=10s\nOnUnitActiveSec=10s\nRandomizedDelaySec=0\n"}
`
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: h.hc.Name + "-follow-often"}, Data: map[string]string{"config": config}}
	h.must(h.management.Create(h.t.Context(), cm))
	h.t.Cleanup(func() { h.must(h.management.Delete(context.WithoutCancel(h.t.Context()), cm)) })
	return cm.Name
}

// rotate replaces all certificate authorities, and waits until those that nodes believe are not trusted any more.
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
					return fmt.Errorf("of %s %d are trusted, the new one signs: %t; %s", name, len(trusted), signs, h.waitsFor(ctx))
				}
			}
			return nil
		})
		h.t.Logf("%.1f s: %s", time.Since(began).Seconds(), step.what)
	}
	h.eventually("there is a way to its API", func(ctx context.Context) (err error) {
		h.kubeconfig, err = on.AdminKubeconfig(ctx, key(h.hc))
		return err
	})
	h.eventually("nodes believe the new authorities alone, and are alive", h.nodesFollow)
	h.t.Logf("%.1f s: nodes believe them alone, and are alive", time.Since(began).Seconds())
}

func (h *hosted) signer(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: name}, secret)
}

// waitsFor is what a rotation that does not go on is asked about.
func (h *hosted) waitsFor(ctx context.Context) string {
	list := &hyperv1.ControlPlaneComponentList{}
	if err := h.management.List(ctx, list, client.InNamespace(h.namespace())); err != nil {
		return err.Error()
	}
	said := []string{}
	for _, c := range list.Items {
		for _, condition := range c.Status.Conditions {
			if condition.Status != metav1.ConditionTrue {
				said = append(said, c.Name+": "+condition.Message)
			}
		}
	}
	if err := h.management.Get(ctx, key(h.hc), h.hc); err != nil {
		return err.Error()
	}
	for _, condition := range h.hc.Status.Conditions {
		if condition.Type == hyperv1.ConfigOperatorReconciliationSucceeded {
			said = append(said, condition.Message)
		}
	}
	return strings.Join(said, "; ")
}

// nodesFollow says which node has not taken over what the cluster tells it, or has not been heard of since.
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
			return fmt.Errorf("node %s was heard of last at %s", node, beat)
		}
	}
	return nil
}

// heartbeat is a little more than the ten seconds after which a kubelet tells again that it is alive.
const heartbeat = 15 * time.Second
