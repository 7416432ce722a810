package sharedrouter

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Wanted reports whether a cluster chooses the shared router.
func Wanted(hc *hyperv1.HostedCluster) bool {
	return hc.Annotations[hyperv1.SharedRouterAnnotation] == "true"
}

// LoadBalancers are the host names of the load balancers of the shared router; empty for those that do not exist yet.
type LoadBalancers struct{ Public, Private string }

// Missing returns the name of a Service that has no load balancer, or "".
func (l LoadBalancers) Missing() string {
	switch {
	case l.Private == "":
		return Private
	case l.Public == "":
		return Public
	}
	return ""
}

// EndpointServiceRole is the role tag of the endpoint service. Its owner tag is the installation.
const EndpointServiceRole = EndpointService + "-endpoint-service"

// Installation returns the UID that identifies the installation with the operator in namespace, also after the load balancers were made anew: that
// of the namespace.
func Installation(ctx context.Context, c client.Reader, namespace string) (string, error) {
	ns := &corev1.Namespace{}
	if err := c.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		return "", fmt.Errorf("getting the namespace of the operator: %w", err)
	}
	return string(ns.UID), nil
}

// Of returns the load balancers of the shared router for a control plane that it serves, and none for another one.
func Of(hcp *hyperv1.HostedControlPlane) LoadBalancers {
	return LoadBalancers{Public: hcp.Annotations[hyperv1.SharedRouterPublicHostAnnotation], Private: hcp.Annotations[hyperv1.SharedRouterPrivateHostAnnotation]}
}

// Serves reports whether the shared router serves a control plane.
func Serves(hcp *hyperv1.HostedControlPlane) bool { return Of(hcp).Missing() == "" }

// Find reads the load balancers of the installation with the operator in namespace.
func Find(ctx context.Context, c client.Reader, namespace string) (LoadBalancers, error) {
	var found LoadBalancers
	for name, host := range map[string]*string{Public: &found.Public, Private: &found.Private} {
		svc := &corev1.Service{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, svc); client.IgnoreNotFound(err) != nil {
			return found, fmt.Errorf("getting Service %s: %w", name, err)
		}
		if ingress := svc.Status.LoadBalancer.Ingress; len(ingress) > 0 {
			*host = ingress[0].Hostname
		}
	}
	return found, nil
}
