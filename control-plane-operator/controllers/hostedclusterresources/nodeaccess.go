package hostedclusterresources

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkMachines records which paths nodes use when the access mode is not completely changed. Without Machines that is the
// path of new ones, even if the API server does not respond. With Machines, checkNodes reads their Nodes.
func (r *Reconciler) checkMachines(ctx context.Context, s *scope) error {
	if s.hcp.Spec.Platform.Type != hyperv1.AWSPlatform || s.hcp.Spec.Platform.AWS == nil {
		return nil
	}
	if isAccessUpToDate(s.hcp) {
		r.recordAccess(s, s.hcp.Spec.Platform.NodeAccess())
		r.reportAccess(s, metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: reconcile.AllIsWell})
		return nil
	}
	machines, err := r.machines(ctx, s)
	if err != nil {
		return err
	}
	s.requeueAfter(nodesInterval)
	if len(machines) == 0 {
		r.recordAccess(s, s.hcp.Spec.Platform.NodeAccess())
		r.reportRemoval(s)
		return nil
	}
	s.following = machines
	if c := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.EndpointAccessUpToDate); c == nil || c.ObservedGeneration != s.hcp.Generation {
		r.reportAccess(s, metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.MachinesBehindReason, Message: "waiting for the hosted API server, which knows the addresses that machines use"})
	}
	return nil
}

// isAccessUpToDate reports whether all nodes use the path of new ones, and no path is served that spec does not have. A
// control plane of an earlier release has no record: its mode has not changed.
func isAccessUpToDate(hcp *hyperv1.HostedControlPlane) bool {
	path := hcp.Spec.Platform.NodeAccess()
	if n := hcp.Status.NodeAccess; n != nil && (n.InUse != path || n.Tunnels != path) {
		return false
	}
	return hcp.ServedAccess() == hcp.Spec.Platform.AWS.EndpointAccess
}

// tunnelPath returns the path of the tunnels from nodes.
func tunnelPath(hcp *hyperv1.HostedControlPlane) hyperv1.AWSEndpointAccessType {
	if n := hcp.Status.NodeAccess; n != nil {
		return n.Tunnels
	}
	return hcp.Spec.Platform.NodeAccess()
}

// recordAccess records that all nodes and their tunnels use one path.
func (r *Reconciler) recordAccess(s *scope, path hyperv1.AWSEndpointAccessType) {
	s.hcp.Status.NodeAccess = &hyperv1.NodeAccessRecord{ObservedGeneration: s.hcp.Generation, InUse: path, Tunnels: path}
}

func (r *Reconciler) reportAccess(s *scope, c metav1.Condition) {
	c.Type, c.ObservedGeneration = hyperv1.EndpointAccessUpToDate, s.hcp.Generation
	reconcile.SetCondition(&s.hcp.Status.Conditions, c, r.Clock.Now())
}

// reportRemoval reports that nodes do not use a path that is still served.
func (r *Reconciler) reportRemoval(s *scope) {
	if s.hcp.ServedAccess() == s.hcp.Spec.Platform.AWS.EndpointAccess {
		r.reportAccess(s, metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: reconcile.AllIsWell})
		return
	}
	r.reportAccess(s, metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.RemovingFormerAccessReason, Message: "no machine uses the former address of the API server, which is being removed"})
}

// checkNodes compares the addresses that nodes report with that of new nodes. When all are the same, the tunnels follow: they
// have one address for all nodes. Their former path is in use until the last of them is replaced.
func (r *Reconciler) checkNodes(ctx context.Context, s *scope) error {
	if len(s.following) == 0 {
		return nil
	}
	path, tunnels := s.hcp.Spec.Platform.NodeAccess(), tunnelPath(s.hcp)
	nodes := metadata("NodeList")
	if err := s.hosted.client.List(ctx, nodes); err != nil {
		return fmt.Errorf("reading the addresses that nodes use: %w", err)
	}
	servers := map[string]string{}
	for _, node := range nodes.Items {
		servers[node.Name] = node.Annotations[names.ServerAnnotation]
	}
	behind := machinesBehind(s.following, servers, s.hcp)
	inUse, c := path, metav1.Condition{}
	switch at := apiHost(s.hcp); {
	case pathOf(at.Host, s.hcp) != path:
		// The new address is not known yet, such as that of a load balancer.
		inUse = hyperv1.PublicAndPrivate
		c = metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.MachinesBehindReason, Message: "waiting for the new address of the API server; see InfrastructureReady"}
	case len(behind) > 0:
		inUse = hyperv1.PublicAndPrivate
		c = metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.MachinesBehindReason, Message: fmt.Sprintf("the former address of the API server is served until all machines use %s; waiting for machines %s", apiURL(at), summarize(behind))}
	default:
		old, err := r.tunnelsBehind(ctx, s, tunnels != path)
		if err != nil {
			return err
		}
		if tunnels = path; old != "" {
			inUse = hyperv1.PublicAndPrivate
			c = metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.TunnelsBehindReason, Message: "all machines use " + apiURL(at) + "; waiting for the pods of DaemonSet " + old}
			s.requeueAfter(tunnelsInterval)
		}
	}
	s.hcp.Status.NodeAccess = &hyperv1.NodeAccessRecord{ObservedGeneration: s.hcp.Generation, InUse: inUse, Tunnels: tunnels}
	if c.Status == "" {
		r.reportRemoval(s)
		return nil
	}
	r.reportAccess(s, c)
	return nil
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

// tunnelsInterval is the interval for checking whether the pods of the tunnels are replaced. This takes seconds per node.
const tunnelsInterval = nodesInterval / 4

// tunnelsBehind returns the DaemonSet whose pods may use another path than new ones, and how many, or "". changes is true if
// its address is only about to change.
func (r *Reconciler) tunnelsBehind(ctx context.Context, s *scope, changes bool) (string, error) {
	ds := &appsv1.DaemonSet{}
	err := s.hosted.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: agentName}, ds)
	if apierrors.IsNotFound(err) {
		return "", nil // the cluster has no tunnels
	}
	if err != nil {
		return "", fmt.Errorf("reading DaemonSet %s: %w", agentName, err)
	}
	host, err := r.konnectivityHost(ctx, s)
	current := err == nil && !changes && len(ds.Spec.Template.Spec.Containers) > 0 && slices.Contains(ds.Spec.Template.Spec.Containers[0].Args, "--proxy-server-host="+host.Name)
	switch wanted := ds.Status.DesiredNumberScheduled; {
	case !current || ds.Status.ObservedGeneration < ds.Generation:
		return agentName, nil
	case ds.Status.UpdatedNumberScheduled < wanted || ds.Status.NumberAvailable < wanted:
		return fmt.Sprintf("%s, of which %d of %d are replaced", agentName, min(ds.Status.UpdatedNumberScheduled, ds.Status.NumberAvailable), wanted), nil
	}
	return "", nil
}

// agentName is the name of the DaemonSet of the tunnels.
const agentName = "konnectivity-agent"
