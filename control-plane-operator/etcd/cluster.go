package etcd

import (
	"fmt"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Ports of every member.
const (
	ClientPort = 2379
	PeerPort   = 2380
)

// Services of the members.
const (
	// DiscoveryService provides a name for each member, whether it is ready or not.
	DiscoveryService = names.Etcd + "-discovery"
	// ClientService routes to a ready member. With several members, a member is ready only as a part of a majority.
	ClientService = names.Etcd + "-client"
)

// ConnectionsLabel is on the pod of a single member as long as ClientService routes to it: until the pod is deleted.
const ConnectionsLabel = "hypershift.openshift.io/etcd-connections"

// highlyAvailable is the number of members of a highly available etcd. The majority of three survives the loss of one.
const highlyAvailable = 3

// A Cluster is an etcd cluster of a control plane.
type Cluster struct {
	Namespace string
	Size      int
}

// Of returns the etcd cluster of a control plane.
func Of(hcp *hyperv1.HostedControlPlane) Cluster {
	c := Cluster{Namespace: hcp.Namespace, Size: 1}
	if hcp.Spec.ControllerAvailabilityPolicy == hyperv1.HighlyAvailable {
		c.Size = highlyAvailable
	}
	return c
}

// Members returns the names of all members.
func (c Cluster) Members() []string {
	var members []string
	for i := range c.Size {
		members = append(members, fmt.Sprintf("%s-%d", names.Etcd, i))
	}
	return members
}

// Claim returns the name of the volume claim of a member.
func Claim(member string) string { return "data-" + member }

// PeerURL returns the URL of a member for the other members.
func (c Cluster) PeerURL(member string) string { return c.url(member, PeerPort) }

// ClientURL returns the URL of a member for clients.
func (c Cluster) ClientURL(member string) string { return c.url(member, ClientPort) }

func (c Cluster) url(member string, port int) string {
	return fmt.Sprintf("https://%s.%s.%s.svc:%d", member, DiscoveryService, c.Namespace, port)
}

// ServiceURL returns the URL of any ready member.
func (c Cluster) ServiceURL() string { return "https://" + c.ServiceAddress() }

// ServiceAddress returns the same address without the scheme.
func (c Cluster) ServiceAddress() string {
	return fmt.Sprintf("%s.%s.svc:%d", ClientService, c.Namespace, ClientPort)
}

// Endpoints returns the URLs for a client. With several members it returns the URL of each, because a connection to the
// Service would stay with a member that does not respond. With a single member it returns the Service: its name exists
// from the start. The name of the member appears with its pod, and resolvers cache a negative answer.
func (c Cluster) Endpoints() []string {
	if c.Size == 1 {
		return []string{c.ServiceURL()}
	}
	var urls []string
	for _, m := range c.Members() {
		urls = append(urls, c.ClientURL(m))
	}
	return urls
}

// Initial returns etcd's initial-cluster setting of a new cluster.
func (c Cluster) Initial() string {
	var all []string
	for _, m := range c.Members() {
		all = append(all, m+"="+c.PeerURL(m))
	}
	return strings.Join(all, ",")
}
