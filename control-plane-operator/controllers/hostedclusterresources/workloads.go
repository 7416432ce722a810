package hostedclusterresources

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// workload is the part with the objects of a component.
func workload(c component.Component[*target.HostedCluster]) part {
	return part{
		name:      c.Name,
		namespace: metav1.NamespaceSystem,
		kinds:     component.Kinds(c, &target.HostedCluster{}),
		desired: func(r *Reconciler, ctx context.Context, s *scope) ([]client.Object, error) {
			t, err := r.target(ctx, s)
			if err != nil || c.Wanted != nil && !c.Wanted(t) {
				return nil, err
			}
			return component.Render(c, t)
		},
	}
}

// target returns the facts that components use. Pods on nodes must not be newer than the control plane: during an upgrade of
// the control plane they stay as they are.
func (r *Reconciler) target(ctx context.Context, s *scope) (*target.HostedCluster, error) {
	if s.target != nil {
		return s.target, nil
	}
	if !arrived(s.hcp) {
		return nil, reconcile.Wait(0, hyperv1.WaitingForReleaseReason, "waiting until the control plane runs release %s", s.hcp.Spec.ReleaseImage)
	}
	payload, err := r.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	api, err := apiOfPods(s.hcp)
	s.target = &target.HostedCluster{
		HCP: s.hcp, Release: payload,
		API:                      target.FactOf(api, err),
		Konnectivity:             target.FactOf(r.konnectivityHost(ctx, s)),
		Authorities:              target.FactOf(r.podAuthorities(ctx, s)),
		KonnectivityCertificate:  target.FactOf(r.konnectivityCertificate(ctx, s)),
		MetricsServerCertificate: target.FactOf(r.metricsServerCertificate(ctx, s)),
		KubeletAuthorities:       target.FactOf(r.kubeletAuthorities(ctx, s)),
	}
	return s.target, nil
}

// apiOfPods returns the address of the API server for pods that cannot use the Service "kubernetes". Machines of AWS forward
// the advertised address to the one that they use, so that these pods do not depend on the access mode.
func apiOfPods(hcp *hyperv1.HostedControlPlane) (target.Host, error) {
	at, err := awaitAPIHost(hcp)
	if err == nil && hcp.Spec.Platform.Type == hyperv1.AWSPlatform {
		at = hyperv1.APIEndpoint{Host: hcp.Spec.Networking.AdvertiseAddress(), Port: hcp.Spec.Networking.AdvertisePort()}
	}
	return target.Host{Name: at.Host, Port: at.Port}, err
}

// konnectivityHost returns the address of the konnectivity server for nodes.
func (r *Reconciler) konnectivityHost(ctx context.Context, s *scope) (target.Host, error) {
	at, err := publishing.Konnectivity(ctx, r.Client, s.hcp, tunnelPath(s.hcp))
	if err == nil && at.Name == "" {
		err = reconcile.Wait(0, hyperv1.WaitingForEndpointReason, "waiting for the address of %s for nodes", names.KonnectivityServer)
	}
	return at, err
}

// konnectivityCertificate returns the content of the Secret with the certificate of the tunnels.
func (r *Reconciler) konnectivityCertificate(ctx context.Context, s *scope) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := certsecret.Get(ctx, r.Client, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.KonnectivityAgentCertificate}, secret)
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(waitForSecret, hyperv1.WaitingForCertificateReason, "waiting for Secret %s with the certificate of the tunnels", names.KonnectivityAgentCertificate)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.KonnectivityAgentCertificate, err)
	}
	return secret.Data, nil
}

// metricsServerCertificate returns the content of the Secret with the serving certificate of metrics-server, or nil: there is
// none before the first node.
func (r *Reconciler) metricsServerCertificate(ctx context.Context, s *scope) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.MetricsServerCertificate}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.MetricsServerCertificate, err)
	}
	return secret.Data, nil
}

// kubeletAuthorities returns the authorities that sign the serving certificates of kubelets.
func (r *Reconciler) kubeletAuthorities(ctx context.Context, s *scope) ([]byte, error) {
	cm := &corev1.ConfigMap{}
	err := certsecret.GetBundle(ctx, r.Client, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.KubeletServingCA}, cm)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", names.KubeletServingCA, err)
	}
	if cm.Data[pki.TrustKey] == "" {
		return nil, reconcile.Wait(waitForSecret, hyperv1.WaitingForCertificateReason, "waiting for the authorities of kubelets in ConfigMap %s", names.KubeletServingCA)
	}
	return []byte(cm.Data[pki.TrustKey]), nil
}
