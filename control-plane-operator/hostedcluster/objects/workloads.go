package objects

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/authorities"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// workload is the set with the objects of a component.
func workload(c component.Component[*target.HostedCluster]) Set {
	return Set{
		Name:      c.Name,
		Namespace: metav1.NamespaceSystem,
		Kinds:     component.Kinds(c, &target.HostedCluster{}),
		Desired: func(ctx context.Context, b *Builder) ([]client.Object, error) {
			t, err := b.Target(ctx)
			if err != nil || c.Wanted != nil && !c.Wanted(t) {
				return nil, err
			}
			return component.Render(c, t)
		},
	}
}

// Target returns the facts that components use. Pods on nodes must not be newer than the control plane: during an upgrade of
// the control plane they stay as they are.
func (b *Builder) Target(ctx context.Context) (*target.HostedCluster, error) {
	if b.target != nil {
		return b.target, nil
	}
	if !Arrived(b.HCP) {
		return nil, reconcile.Wait(0, hyperv1.WaitingForReleaseReason, "waiting until the control plane runs release %s", b.HCP.Spec.ReleaseImage)
	}
	payload, err := b.Release(ctx)
	if err != nil {
		return nil, err
	}
	api, err := apiOfPods(b.HCP)
	b.target = &target.HostedCluster{
		HCP: b.HCP, Release: payload, OperatorImage: b.OperatorImage,
		API:                      target.FactOf(api, err),
		Konnectivity:             target.FactOf(publishing.AwaitKonnectivity(ctx, b.Client, b.HCP)),
		Authorities:              target.FactOf(authorities.ForPods(ctx, b.Cluster)),
		KonnectivityCertificate:  target.FactOf(b.konnectivityCertificate(ctx)),
		MetricsServerCertificate: target.FactOf(b.servingCertificate(ctx, names.MetricsServerCertificate)),
		IngressCertificate:       target.FactOf(b.servingCertificate(ctx, names.IngressCertificate)),
		ImageRegistryCertificate: target.FactOf(b.servingCertificate(ctx, names.ImageRegistryCertificate)),
		KubeletAuthorities:       target.FactOf(b.kubeletAuthorities(ctx)),
	}
	return b.target, nil
}

// apiOfPods returns the address of the API server for pods that cannot use the Service "kubernetes". Machines of AWS forward
// the advertised address to the address that they use, so that these pods do not depend on the access mode.
func apiOfPods(hcp *hyperv1.HostedControlPlane) (target.Host, error) {
	at, err := publishing.AwaitAPI(hcp)
	if err == nil && hcp.Spec.Platform.Type == hyperv1.AWSPlatform {
		at = hyperv1.APIEndpoint{Host: hcp.Spec.Networking.AdvertiseAddress(), Port: hcp.Spec.Networking.AdvertisePort()}
	}
	return target.Host{Name: at.Host, Port: at.Port}, err
}

// konnectivityCertificate returns the content of the Secret with the certificate of the tunnels.
func (b *Builder) konnectivityCertificate(ctx context.Context) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := certsecret.Get(ctx, b.Client, client.ObjectKey{Namespace: b.HCP.Namespace, Name: names.KonnectivityAgentCertificate}, secret)
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(connection.SecretInterval, hyperv1.WaitingForCertificateReason, "waiting for Secret %s with the certificate of the tunnels", names.KonnectivityAgentCertificate)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.KonnectivityAgentCertificate, err)
	}
	return secret.Data, nil
}

// servingCertificate returns the content of the Secret with the serving certificate of a component, or nil: the Secret does not exist
// before the cluster expects nodes.
func (b *Builder) servingCertificate(ctx context.Context, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := b.Client.Get(ctx, client.ObjectKey{Namespace: b.HCP.Namespace, Name: name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return secret.Data, nil
}

// kubeletAuthorities returns the authorities that sign the serving certificates of kubelets.
func (b *Builder) kubeletAuthorities(ctx context.Context) ([]byte, error) {
	cm := &corev1.ConfigMap{}
	err := certsecret.GetBundle(ctx, b.Client, client.ObjectKey{Namespace: b.HCP.Namespace, Name: names.KubeletServingCA}, cm)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", names.KubeletServingCA, err)
	}
	if cm.Data[pki.TrustKey] == "" {
		return nil, reconcile.Wait(connection.SecretInterval, hyperv1.WaitingForCertificateReason, "waiting for the authorities of kubelets in ConfigMap %s", names.KubeletServingCA)
	}
	return []byte(cm.Data[pki.TrustKey]), nil
}
