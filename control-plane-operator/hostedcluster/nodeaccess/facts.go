package nodeaccess

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Facts are the facts about the paths that nodes use.
type Facts struct {
	// UpToDate is true if all nodes use the path of new ones, and no path is served that spec does not have.
	UpToDate bool
	// Machines are those that may have to follow, if it is not.
	Machines []clusterv1.Machine
	// Nodes holds the reports of these Machines' nodes; nil until the hosted cluster is read.
	Nodes *Nodes
}

// Nodes holds the reports of nodes.
type Nodes struct {
	// AddressUnknown is true while the new address, such as a load balancer's address, is not known.
	AddressUnknown bool
	// Behind are the Machines that may use another path than new ones, with the reason.
	Behind []string
	// Tunnels is the DaemonSet of the tunnels, and how many of its pods may use another path than new ones, or "". It is read when Behind
	// is empty.
	Tunnels string
}

const (
	// NodesInterval is the interval for reading which path nodes use, and TunnelsInterval for reading whether the pods of the
	// tunnels are replaced: this takes seconds per node.
	NodesInterval   = 20 * time.Second
	TunnelsInterval = NodesInterval / 4
)

// IsUpToDate reports whether all nodes use the path of new ones, and no path is served that spec does not have. A control plane of an
// earlier release has no record: its mode has not changed.
func IsUpToDate(hcp *hyperv1.HostedControlPlane) bool {
	path := hcp.Spec.Platform.NodeAccess()
	if n := hcp.Status.NodeAccess; n != nil && (n.InUse != path || n.Tunnels != path) {
		return false
	}
	return hcp.ServedAccess() == hcp.Spec.Platform.AWS.EndpointAccess
}

// Read compares the addresses that nodes report with the address for new nodes.
func Read(ctx context.Context, management client.Reader, hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster, machines []clusterv1.Machine) (*Nodes, error) {
	list := connection.Nodes()
	if err := cluster.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("reading the addresses that nodes use: %w", err)
	}
	servers := map[string]string{}
	for _, node := range list.Items {
		servers[node.Name] = node.Annotations[names.ServerAnnotation]
	}
	path := hcp.Spec.Platform.NodeAccess()
	nodes := &Nodes{AddressUnknown: pathOf(publishing.API(hcp).Host, hcp) != path, Behind: machinesBehind(machines, servers, hcp)}
	if nodes.AddressUnknown || len(nodes.Behind) > 0 {
		return nodes, nil
	}
	var err error
	nodes.Tunnels, err = tunnelsBehind(ctx, management, hcp, cluster, publishing.TunnelPath(hcp) != path)
	return nodes, err
}

// machinesBehind returns the Machines that may use another path than new ones, with the reason.
func machinesBehind(machines []clusterv1.Machine, servers map[string]string, hcp *hyperv1.HostedControlPlane) []string {
	var behind []string
	for _, m := range machines {
		server, joined := servers[m.Status.NodeRef.Name]
		switch at, err := url.Parse(server); {
		case !joined:
			behind = append(behind, m.Name+" (is no node)")
		case server == "":
			behind = append(behind, m.Name+" (has not reported its address)")
		case err != nil || pathOf(at.Hostname(), hcp) != hcp.Spec.Platform.NodeAccess():
			behind = append(behind, m.Name)
		}
	}
	return behind
}

// pathOf returns the path of a host of the API server.
func pathOf(host string, hcp *hyperv1.HostedControlPlane) hyperv1.AWSEndpointAccessType {
	if strings.EqualFold(host, names.LocalAPI(hcp.Name)) {
		return hyperv1.Private
	}
	return hyperv1.Public
}

// agents is the name of the DaemonSet of the tunnels.
const agents = "konnectivity-agent"

// tunnelsBehind returns the DaemonSet of the tunnels, and how many of its pods may use another path than new ones, or "". changes is true if
// its address is only about to change.
func tunnelsBehind(ctx context.Context, management client.Reader, hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster, changes bool) (string, error) {
	ds := &appsv1.DaemonSet{}
	err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: agents}, ds)
	if apierrors.IsNotFound(err) {
		return "", nil // the cluster has no tunnels
	}
	if err != nil {
		return "", fmt.Errorf("reading DaemonSet %s: %w", agents, err)
	}
	host, err := publishing.AwaitKonnectivity(ctx, management, hcp)
	current := err == nil && !changes && len(ds.Spec.Template.Spec.Containers) > 0 && slices.Contains(ds.Spec.Template.Spec.Containers[0].Args, "--proxy-server-host="+host.Name)
	switch wanted := ds.Status.DesiredNumberScheduled; {
	case !current || ds.Status.ObservedGeneration < ds.Generation:
		return agents, nil
	case ds.Status.UpdatedNumberScheduled < wanted || ds.Status.NumberAvailable < wanted:
		return fmt.Sprintf("%s, of which %d of %d are replaced", agents, min(ds.Status.UpdatedNumberScheduled, ds.Status.NumberAvailable), wanted), nil
	}
	return "", nil
}
