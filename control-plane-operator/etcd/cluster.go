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
	// DiscoveryService has a name for each member, whether it is ready or not.
	DiscoveryService = names.Etcd + "-discovery"
	// ClientService leads to a member that is ready, which one of several is only
	// as part of a majority.
	ClientService = names.Etcd + "-client"
)

// Members of a highly available etcd: a majority of three outlives one.
const highlyAvailable = 3

// A Cluster is an etcd of ours.
type Cluster struct {
	Namespace string
	Size      int
}

// Of is the etcd of a control plane.
func Of(hcp *hyperv1.HostedControlPlane) Cluster {
	c := Cluster{Namespace: hcp.Namespace, Size: 1}
	if hcp.Spec.ControllerAvailabilityPolicy == hyperv1.HighlyAvailable {
		c.Size = highlyAvailable
	}
	return c
}

// Members are the names of all members.
func (c Cluster) Members() []string {
	var members []string
	for i := range c.Size {
		members = append(members, fmt.Sprintf("%s-%d", names.Etcd, i))
	}
	return members
}

// PeerURL is where the other members find a member.
func (c Cluster) PeerURL(member string) string { return c.url(member, PeerPort) }

// ClientURL is where clients find a member.
func (c Cluster) ClientURL(member string) string { return c.url(member, ClientPort) }

func (c Cluster) url(member string, port int) string {
	return fmt.Sprintf("https://%s.%s.%s.svc:%d", member, DiscoveryService, c.Namespace, port)
}

// ServiceURL is where clients find any member that is ready.
func (c Cluster) ServiceURL() string { return "https://" + c.ServiceAddress() }

// ServiceAddress is the same without the protocol.
func (c Cluster) ServiceAddress() string {
	return fmt.Sprintf("%s.%s.svc:%d", ClientService, c.Namespace, ClientPort)
}

// Endpoints are the URLs that a client should know. It has to know each of
// several members: a connection to the Service would stay with a member that
// has gone silent. The Service of a single one has a name from the start, while
// that of the member appears with its pod, and that there is none is remembered
// for a while by whoever asked too early.
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

// Initial is how a new cluster of these members is told to etcd.
func (c Cluster) Initial() string {
	var all []string
	for _, m := range c.Members() {
		all = append(all, m+"="+c.PeerURL(m))
	}
	return strings.Join(all, ",")
}
