package publishing

import (
	"context"
	"net"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// API returns the address of the API server for nodes, as their kubelets use it. The host is empty as long as it is unknown.
func API(hcp *hyperv1.HostedControlPlane) hyperv1.APIEndpoint {
	at := hcp.Status.ControlPlaneEndpoint
	if at.Host != "" && hcp.Spec.Platform.PrivateLink() {
		at.Host = names.LocalAPI(hcp.Name)
	}
	return at
}

// URL returns the URL of the address of an API server.
func URL(at hyperv1.APIEndpoint) string {
	return "https://" + net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
}

// AwaitAPI returns the address of the API server for nodes, or waits, by reconcile.Wait, until it is known.
func AwaitAPI(hcp *hyperv1.HostedControlPlane) (hyperv1.APIEndpoint, error) {
	at := API(hcp)
	if at.Host == "" {
		return at, reconcile.Wait(0, hyperv1.WaitingForEndpointReason, "waiting for the address of the API server for nodes")
	}
	return at, nil
}

// TunnelPath returns the path of the tunnels from nodes: Public or Private.
func TunnelPath(hcp *hyperv1.HostedControlPlane) hyperv1.AWSEndpointAccessType {
	if n := hcp.Status.NodeAccess; n != nil {
		return n.Tunnels
	}
	return hcp.Spec.Platform.NodeAccess()
}

// AwaitKonnectivity returns the address of the konnectivity server for nodes, or waits, by reconcile.Wait, until it is known.
func AwaitKonnectivity(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane) (target.Host, error) {
	at, err := Konnectivity(ctx, c, hcp, TunnelPath(hcp))
	if err == nil && at.Name == "" {
		err = reconcile.Wait(0, hyperv1.WaitingForEndpointReason, "waiting for the address of %s for nodes", names.KonnectivityServer)
	}
	return at, err
}
