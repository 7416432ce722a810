package nodeaccess

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// maxListed is the largest number of Machines in a message.
const maxListed = 10

// Record returns the record of the paths that nodes and their tunnels use. It stays as it is until the nodes are read. Without Machines
// the path is the path of new nodes, even if the API server does not respond.
func (f Facts) Record(hcp *hyperv1.HostedControlPlane) *hyperv1.NodeAccessRecord {
	path := hcp.Spec.Platform.NodeAccess()
	switch {
	case f.UpToDate || len(f.Machines) == 0:
		return &hyperv1.NodeAccessRecord{ObservedGeneration: hcp.Generation, InUse: path, Tunnels: path}
	case f.Nodes == nil:
		return hcp.Status.NodeAccess
	}
	record := &hyperv1.NodeAccessRecord{ObservedGeneration: hcp.Generation, InUse: hyperv1.PublicAndPrivate, Tunnels: publishing.TunnelPath(hcp)}
	if f.Nodes.AddressUnknown || len(f.Nodes.Behind) > 0 {
		return record
	}
	record.Tunnels = path
	if f.Nodes.Tunnels == "" {
		record.InUse = path
	}
	return record
}

// Condition returns the status, the reason and the message of the condition EndpointAccessUpToDate, or false if it stays as it is.
func (f Facts) Condition(hcp *hyperv1.HostedControlPlane) (metav1.Condition, bool) {
	behind := func(reason, message string) (metav1.Condition, bool) {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}, true
	}
	url := publishing.URL(publishing.API(hcp))
	switch {
	case f.UpToDate:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: reconcile.AllIsWell}, true
	case len(f.Machines) == 0:
		return removal(hcp), true
	case f.Nodes == nil:
		if c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.EndpointAccessUpToDate); c != nil && c.ObservedGeneration == hcp.Generation {
			return metav1.Condition{}, false
		}
		return behind(hyperv1.MachinesBehindReason, "waiting for the hosted API server, which knows the addresses that machines use")
	case f.Nodes.AddressUnknown:
		return behind(hyperv1.MachinesBehindReason, "waiting for the new address of the API server; see InfrastructureReady")
	case len(f.Nodes.Behind) > 0:
		return behind(hyperv1.MachinesBehindReason, fmt.Sprintf("the former address of the API server is served until all machines use %s; waiting for machines %s", url, oneline.List(f.Nodes.Behind, maxListed)))
	case f.Nodes.Tunnels != "":
		return behind(hyperv1.TunnelsBehindReason, "all machines use "+url+"; waiting for the pods of DaemonSet "+f.Nodes.Tunnels)
	}
	return removal(hcp), true
}

// removal is the condition when nodes do not use a path that may still be served.
func removal(hcp *hyperv1.HostedControlPlane) metav1.Condition {
	if hcp.ServedAccess() == hcp.Spec.Platform.AWS.EndpointAccess {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: reconcile.AllIsWell}
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.RemovingFormerAccessReason, Message: "no machine uses the former address of the API server, which is being removed"}
}
