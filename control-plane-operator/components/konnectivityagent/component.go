// Package konnectivityagent runs the agents that open tunnels from the nodes of a hosted cluster to its control plane. The
// control plane reaches kubelets, pods and webhooks only through them.
package konnectivityagent

import (
	"embed"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

//go:embed assets
var assets embed.FS

// Component is the agents of Konnectivity.
var Component = component.Component[*target.HostedCluster]{
	Name:   "konnectivity-agent",
	Assets: assets,
	Wanted: wanted,
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("daemonset.yaml", adaptDaemonSet),
		component.On("secret.yaml", adaptSecret),
	},
}

// wanted is false if the server is not published: agents could not reach it.
func wanted(t *target.HostedCluster) bool {
	return hyperv1.PublishingOf(t.HCP.Spec.Services, hyperv1.Konnectivity).Type != "" && t.Has(names.KonnectivityAgentImage)
}

func adaptDaemonSet(t *target.HostedCluster, ds *appsv1.DaemonSet) error {
	server, err := t.Konnectivity.Get()
	if err != nil {
		return err
	}
	certificate, err := t.KonnectivityCertificate.Get()
	if err != nil {
		return err
	}
	target.RestartOn(&ds.Spec.Template, certificate[corev1.TLSCertKey], certificate[corev1.TLSPrivateKeyKey], certificate[pki.TrustKey])
	c := &ds.Spec.Template.Spec.Containers[0]
	c.Args = append(c.Args, "--proxy-server-host="+server.Name, "--proxy-server-port="+strconv.Itoa(int(server.Port)))
	return nil
}

func adaptSecret(t *target.HostedCluster, secret *corev1.Secret) error {
	if _, err := t.Konnectivity.Get(); err != nil {
		return err // the address takes longer than the certificate: report it first
	}
	var err error
	secret.Data, err = t.KonnectivityCertificate.Get()
	return err
}
