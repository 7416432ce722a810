package hostedcontrolplane

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Ports of the control plane.
const (
	apiPort          = 6443
	konnectivityPort = 8091
)

// desiredServices returns the Services of the control plane. There is no Service for logins, because releases of Kubernetes have
// no OAuth server.
func desiredServices(hcp *hyperv1.HostedControlPlane, a access, settings loadbalancers.Settings) []client.Object {
	out := desiredByAccess(hcp, a)
	for _, obj := range out {
		if svc := obj.(*corev1.Service); svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
			configure(hcp, svc, settings)
		}
	}
	return out
}

func desiredByAccess(hcp *hyperv1.HostedControlPlane, a access) []client.Object {
	out := []client.Object{
		apiServer(hcp, a),
		byItself(a, a.services[hyperv1.Konnectivity],
			clusterIP(hcp, names.KonnectivityServer, names.KubeAPIServer, konnectivityPort, intstr.FromInt32(konnectivityPort))),
	}
	if a.dropped {
		return out
	}
	if a.private && !a.apiRoute {
		out = append(out, internal(a, service(hcp, names.KubeAPIServerPrivate, names.KubeAPIServer, apiPort, intstr.FromString("client"))))
	}
	if a.shared {
		return out
	}
	if a.private {
		out = append(out, targets(hcp, internal(a, routerService(hcp, names.PrivateRouter))))
	}
	if a.publicRouter {
		router := targets(hcp, balanced(a, routerService(hcp, names.Router)))
		router.Spec.LoadBalancerSourceRanges = allowed(hcp)
		out = append(out, router)
	}
	return out
}

// apiServer returns the Service of the API server. It is published directly if it is public and not served by the
// router.
func apiServer(hcp *hyperv1.HostedControlPlane, a access) *corev1.Service {
	svc := clusterIP(hcp, names.KubeAPIServer, names.KubeAPIServer, apiPort, intstr.FromString("client"))
	// Before the first start of a single replica its readiness endpoint must be reachable, and the first client need not
	// wait for a probe, which runs once a second. Later another pod is ready while one is not.
	svc.Spec.PublishNotReadyAddresses = hcp.Spec.ControllerAvailabilityPolicy == hyperv1.SingleReplica && !hcp.Status.Initialized
	svc.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyPreferDualStack)
	if !a.public {
		return svc
	}
	if byItself(a, a.services[hyperv1.APIServer], svc); svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		svc.Spec.LoadBalancerSourceRanges = allowed(hcp)
	}
	if a.tunnelsByAPI {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
			Name: publishing.TunnelPort, Port: konnectivityPort, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("agents"),
		})
	}
	return svc
}

// byItself publishes the Service as the user has chosen. A Service that the router serves, without publishing, or whose load
// balancer is dropped, is not changed.
func byItself(a access, how hyperv1.ServicePublishingStrategy, svc *corev1.Service) *corev1.Service {
	switch {
	case how.Type == hyperv1.LoadBalancer && !a.dropped:
		balanced(a, svc)
		if how.Hostname() != "" {
			svc.Annotations[hyperv1.ExternalDNSHostnameAnnotation] = how.Hostname()
			svc.Annotations[hyperv1.CurrentExternalDNSHostnameAnnotation] = how.Hostname()
		}
	case how.Type == hyperv1.NodePort:
		svc.Spec.Type = corev1.ServiceTypeNodePort
		svc.Spec.Ports[0].NodePort = how.NodePort.Port
	}
	return svc
}

func routerService(hcp *hyperv1.HostedControlPlane, name string) *corev1.Service {
	return service(hcp, name, names.PrivateRouter, publishing.RouterPort, intstr.FromString("https"))
}

func service(hcp *hyperv1.HostedControlPlane, name, app string, port int32, target intstr.IntOrString) *corev1.Service {
	return &corev1.Service{ObjectMeta: metadata(hcp, name), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": app},
		Ports:    []corev1.ServicePort{{Name: "https", Port: port, Protocol: corev1.ProtocolTCP, TargetPort: target}},
	}}
}

func clusterIP(hcp *hyperv1.HostedControlPlane, name, app string, port int32, target intstr.IntOrString) *corev1.Service {
	svc := service(hcp, name, app, port, target)
	svc.Labels[hyperv1.SharedRouterTargetLabel] = "true"
	svc.Spec.Type = corev1.ServiceTypeClusterIP
	return svc
}

// balanced gives the Service a network load balancer with public addresses. The scheme is always set, because the
// default depends on the controller of the management cluster. PrivateLink connects to a load balancer in the zone of the
// endpoint, where it may have no target. Then it must send the traffic to another zone.
func balanced(a access, svc *corev1.Service) *corev1.Service {
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	svc.Annotations[loadbalancers.Scheme] = "internet-facing"
	if a.private {
		svc.Annotations[loadbalancers.CrossZone] = "true"
		svc.Annotations[loadbalancers.Attributes] = "load_balancing.cross_zone.enabled=true"
	}
	return svc
}

// internal gives the Service a network load balancer that only the VPC of the management cluster and PrivateLink reach.
func internal(a access, svc *corev1.Service) *corev1.Service {
	balanced(a, svc)
	svc.Annotations[loadbalancers.Scheme] = "internal"
	svc.Annotations[loadbalancers.Internal] = "true"
	return svc
}

// configure adds the settings of the installation and of the HostedCluster. Requirements of the access mode have priority.
func configure(hcp *hyperv1.HostedControlPlane, svc *corev1.Service, settings loadbalancers.Settings) {
	if settings.Class != "" {
		svc.Spec.LoadBalancerClass = &settings.Class
	}
	annotations := map[string]string{loadbalancers.Type: "nlb"}
	maps.Copy(annotations, settings.Annotations)
	if subnets := hcp.Annotations[hyperv1.LoadBalancerSubnetsAnnotation]; subnets != "" {
		annotations[loadbalancers.Subnets] = subnets
	}
	if own, others := svc.Annotations[loadbalancers.Attributes], annotations[loadbalancers.Attributes]; own != "" && others != "" {
		svc.Annotations[loadbalancers.Attributes] = others + "," + own
	}
	maps.Copy(annotations, svc.Annotations)
	svc.Annotations = annotations
}

// targets restricts the nodes that a load balancer sends traffic to.
func targets(hcp *hyperv1.HostedControlPlane, svc *corev1.Service) *corev1.Service {
	if labels := hcp.Annotations[hyperv1.TargetNodeLabelsAnnotation]; labels != "" {
		svc.Annotations[loadbalancers.TargetNodeLabels] = labels
	}
	return svc
}

// allowed returns the networks that can reach the public API. An empty list means all.
func allowed(hcp *hyperv1.HostedControlPlane) []string {
	if hcp.Spec.Networking.APIServer == nil {
		return nil
	}
	var out []string
	for _, block := range hcp.Spec.Networking.APIServer.AllowedCIDRBlocks {
		out = append(out, string(block))
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}
