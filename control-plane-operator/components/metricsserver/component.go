// Package metricsserver runs metrics-server in a hosted cluster. It serves the usage of nodes and pods, for `kubectl top` and
// for the HorizontalPodAutoscaler:
//
//	client ─► API server ─► APIService v1beta1.metrics.k8s.io ─► tunnel ─► metrics-server ─► kubelets
//
// The control plane signs the serving certificate of metrics-server, and the APIService contains the authorities that verify it.
// metrics-server verifies the serving certificates of kubelets.
//
// The component exists from the first node pool on, and the API is registered only while there are nodes. An API server that
// cannot reach a registered API reports incomplete discovery, and does not finish the deletion of namespaces.
package metricsserver

import (
	"embed"
	"encoding/base64"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

//go:embed assets
var assets embed.FS

// Component is metrics-server.
var Component = component.Component[*target.HostedCluster]{
	Name:   names.MetricsServer,
	Assets: assets,
	Wanted: wanted,
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("secret.yaml", adaptSecret),
		component.On("configmap.yaml", adaptAuthorities),
		component.On("deployment.yaml", adaptDeployment),
		component.Only("apiservice.yaml", (*target.HostedCluster).HasNodes),
		component.On("apiservice.yaml", adaptAPIService),
		component.Only("pdb.yaml", (*target.HostedCluster).HighlyAvailable), // a single pod could never be evicted
	},
}

// wanted is false until there is a certificate, which is signed when the cluster expects nodes.
func wanted(t *target.HostedCluster) bool {
	certificate, err := t.MetricsServerCertificate.Get()
	return t.Has(names.MetricsServer) && (err != nil || len(certificate) > 0)
}

func adaptSecret(t *target.HostedCluster, secret *corev1.Secret) (err error) {
	secret.Data, err = target.KeyPair(t.MetricsServerCertificate)
	return err
}

func adaptAuthorities(t *target.HostedCluster, cm *corev1.ConfigMap) error {
	authorities, err := t.KubeletAuthorities.Get()
	cm.Data = map[string]string{pki.TrustKey: string(authorities)}
	return err
}

// adaptDeployment restarts the pods when authorities change. They reload their certificate.
func adaptDeployment(t *target.HostedCluster, d *appsv1.Deployment) error {
	d.Spec.Replicas = t.Replicas()
	if err := t.ConnectToAPI(&d.Spec.Template); err != nil {
		return err
	}
	target.RestartOn(&d.Spec.Template, t.Authorities.Value, t.KubeletAuthorities.Value)
	return nil
}

func adaptAPIService(t *target.HostedCluster, service *unstructured.Unstructured) error {
	certificate, err := t.MetricsServerCertificate.Get()
	if err != nil {
		return err
	}
	return unstructured.SetNestedField(service.Object, base64.StdEncoding.EncodeToString(certificate[pki.TrustKey]), "spec", "caBundle")
}
