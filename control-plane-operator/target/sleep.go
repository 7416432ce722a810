package target

import (
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// LoadBalancersKept returns why the load balancers of a sleeping control plane stay, or "" if they are deleted. The address of the API server
// must be the same after the sleep, because nodes and kubeconfigs have it.
func LoadBalancersKept(hcp *hyperv1.HostedControlPlane) string {
	api := hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.APIServer)
	public := hcp.Spec.Platform.Type != hyperv1.AWSPlatform || hcp.ServedAccess() != hyperv1.Private
	switch wanted := hcp.Annotations[hyperv1.EtcdRestoreAnnotation]; {
	case wanted != "" && wanted != hcp.Status.EtcdRestore:
		return "etcd is being restored"
	case hcp.Annotations[hyperv1.SleepLoadBalancersAnnotation] != hyperv1.SleepDelete:
		return "annotation " + hyperv1.SleepLoadBalancersAnnotation + " is not " + hyperv1.SleepDelete
	case public && api.Type == hyperv1.LoadBalancer && api.Hostname() == "":
		return "the API server has no host name, and another load balancer would have another address"
	}
	return ""
}

// DropsLoadBalancers reports whether the control plane has no load balancers and endpoints now, because it sleeps.
func DropsLoadBalancers(hcp *hyperv1.HostedControlPlane) bool {
	return hcp.Sleeps() && LoadBalancersKept(hcp) == ""
}

// KeepsEtcd reports whether etcd runs while the control plane sleeps. A restore of etcd needs an end of its pods.
func KeepsEtcd(hcp *hyperv1.HostedControlPlane) bool {
	wanted := hcp.Annotations[hyperv1.EtcdRestoreAnnotation]
	return hcp.Sleeps() && hcp.Annotations[hyperv1.SleepEtcdAnnotation] == hyperv1.SleepKeep && (wanted == "" || wanted == hcp.Status.EtcdRestore)
}

// stop removes the pods of a component while the control plane sleeps. etcd has its members until the last API server has ended, so that no
// write is lost. A router that answers clients needs one pod.
func (p *ControlPlane) stop(c component.Traits, w *component.Workload) {
	switch {
	case c.Name == names.Etcd && (p.Serving || KeepsEtcd(p.HCP)):
	case c.Name == names.Router && p.Answers():
		*w.Replicas = ptr.To[int32](1)
	default:
		*w.Replicas = ptr.To[int32](0)
	}
}

// Answers reports whether the router answers clients of the API server while the control plane sleeps: it serves the API server,
// and clients reach the router. The shared router does not answer: it has no certificate of a cluster.
func (p *ControlPlane) Answers() bool {
	return p.HCP.Sleeps() && !sharedrouter.Serves(p.HCP) && LoadBalancersKept(p.HCP) != "" && hyperv1.PublishingOf(p.HCP.Spec.Services, hyperv1.APIServer).Type == hyperv1.Route
}
