// Package traefik runs the ingress controller of a hosted cluster, on its nodes. It serves Ingresses and the Gateway API:
//
//	client ─► *.apps.<domain> ─► network load balancer ─► nodes ─► Traefik ─► pods of applications
//
// The cloud controller manager creates the load balancer of its Service, and package ingressrecords the DNS records that lead to it. The
// control plane signs the certificate that Traefik uses for applications without one of their own.
//
// A cluster has it if the user enables the capability Ingress, and the release has its image.
package traefik

import (
	"context"
	"embed"
	"fmt"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is Traefik.
var Component = component.Component[*target.HostedCluster]{
	Name:   names.Traefik,
	Assets: assets,
	Wanted: wanted,
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("secret.yaml", adaptSecret),
		component.On("service.yaml", adaptService),
		component.On("deployment.yaml", adaptDeployment),
		component.Only("pdb.yaml", (*target.HostedCluster).HighlyAvailable), // a single pod could never be evicted
	},
}

// wanted is false until there is a certificate, which is signed when the cluster expects nodes.
func wanted(t *target.HostedCluster) bool {
	certificate, err := t.IngressCertificate.Get()
	return t.HCP.HasIngress() && t.Has(names.Traefik) && (err != nil || len(certificate) > 0)
}

func adaptSecret(t *target.HostedCluster, secret *corev1.Secret) (err error) {
	secret.Data, err = target.KeyPair(t.IngressCertificate)
	return err
}

// The annotations of load balancers, which the cloud controller manager and the AWS Load Balancer Controller read.
// https://cloud-provider-aws.sigs.k8s.io/service_controller/
const (
	internalAnnotation   = "service.beta.kubernetes.io/aws-load-balancer-internal"
	subnetsAnnotation    = "service.beta.kubernetes.io/aws-load-balancer-subnets"
	elasticIPsAnnotation = "service.beta.kubernetes.io/aws-load-balancer-eip-allocations"
)

// ServiceName returns the name of the Service. A load balancer cannot change its scheme, so that an internal one has a Service of its own, which
// replaces the other: https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html.
func ServiceName(p hyperv1.IngressPublishing) string {
	if p.Type == operatorv1.LoadBalancerServiceStrategyType && p.Internal {
		return names.Traefik + "-internal"
	}
	return names.Traefik
}

// Services lists the Services of Traefik in a hosted cluster.
func Services(ctx context.Context, hosted client.Reader) ([]corev1.Service, error) {
	list := &corev1.ServiceList{}
	err := hosted.List(ctx, list, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{"k8s-app": names.Traefik}, client.HasLabels{apply.InventoryLabel})
	if err != nil {
		return nil, fmt.Errorf("listing the Services of the ingress controller: %w", err)
	}
	return list.Items, nil
}

// adaptService publishes Traefik as the user chooses. The load balancer is a network load balancer whatever type the user names.
func adaptService(t *target.HostedCluster, svc *corev1.Service) error {
	p := t.HCP.IngressPublishing()
	svc.Name = ServiceName(p)
	if p.Type != operatorv1.LoadBalancerServiceStrategyType {
		svc.Annotations, svc.Spec.ExternalTrafficPolicy = nil, ""
		svc.Spec.Type = corev1.ServiceTypeClusterIP
		if p.Type == operatorv1.NodePortServiceStrategyType {
			svc.Spec.Type = corev1.ServiceTypeNodePort
		}
		return nil
	}
	if p.Internal {
		svc.Annotations[internalAnnotation] = "true"
	}
	for _, network := range p.LoadBalancer.AllowedSourceRanges {
		svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges, string(network))
	}
	if parameters := p.LoadBalancer.ProviderParameters; parameters != nil && parameters.AWS != nil && parameters.AWS.NetworkLoadBalancerParameters != nil {
		nlb := parameters.AWS.NetworkLoadBalancerParameters
		if nlb.Subnets != nil {
			annotate(svc, subnetsAnnotation, append(texts(nlb.Subnets.IDs), texts(nlb.Subnets.Names)...))
		}
		annotate(svc, elasticIPsAnnotation, texts(nlb.EIPAllocations))
	}
	return nil
}

func annotate(svc *corev1.Service, key string, values []string) {
	if len(values) > 0 {
		svc.Annotations[key] = strings.Join(values, ",")
	}
}

func texts[T ~string](values []T) (all []string) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// adaptDeployment restarts the pods when the certificate changes: Traefik reads it once.
func adaptDeployment(t *target.HostedCluster, d *appsv1.Deployment) error {
	d.Spec.Replicas = t.Replicas()
	if err := t.ConnectToAPI(&d.Spec.Template); err != nil {
		return err
	}
	c, service := &d.Spec.Template.Spec.Containers[0], ServiceName(t.HCP.IngressPublishing())
	c.Args = append(c.Args,
		"--providers.kubernetesingress.ingressendpoint.publishedservice="+metav1.NamespaceSystem+"/"+service,
		"--providers.kubernetesgateway.statusaddress.service.namespace="+metav1.NamespaceSystem,
		"--providers.kubernetesgateway.statusaddress.service.name="+service,
	)
	certificate, err := t.IngressCertificate.Get()
	target.RestartOn(&d.Spec.Template, t.Authorities.Value, certificate[corev1.TLSCertKey])
	return err
}
