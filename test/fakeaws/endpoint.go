package fakeaws

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// The states as EC2 writes them: they begin in lower case, unlike the constants of the SDK.
const (
	pendingAcceptance types.State = "pendingAcceptance"
	pending           types.State = "pending"
	available         types.State = "available"
	rejected          types.State = "rejected"
	failed            types.State = "failed"
	deleting          types.State = "deleting"
	deleted           types.State = "deleted"
)

// acceptance is the decision of the service's owner.
type acceptance int

const (
	accepted acceptance = iota
	unanswered
	refusedByOwner
)

// endpoint is an interface endpoint.
type endpoint struct {
	meta
	region      *region
	vpc         *vpc
	service     string // name
	subnets     []*subnet
	groups      []*securityGroup
	enis        []*networkInterface // one per subnet
	answer      acceptance
	availableAt time.Time
	failure     string
	policy      string
	privateDNS  bool
	addresses   types.IpAddressType
	gone        types.State // deleting, then deleted
}

func (e *endpoint) state(q *request) types.State {
	switch {
	case e.gone != "":
		return e.gone
	case e.failure != "":
		return failed
	case e.answer == unanswered:
		return pendingAcceptance
	case e.answer == refusedByOwner:
		return rejected
	case q.now.Before(e.availableAt):
		return pending
	}
	return available
}

func (e *endpoint) serviceID() string {
	if s := e.region.account.cloud.services[e.service]; s != nil {
		return s.id
	}
	return ""
}

// FailEndpoint moves an endpoint to the state failed.
func (a *Account) FailEndpoint(region, id, reason string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	a.region(region).endpoints.items[id].failure = reason
}

// plug makes the network interfaces follow the subnets and groups.
func (e *endpoint) plug(q *request) {
	e.enis = slices.DeleteFunc(e.enis, func(i *networkInterface) bool {
		left := !slices.Contains(e.subnets, i.subnet)
		if left {
			e.region.enis.remove(i.id)
		}
		return left
	})
	for _, n := range e.subnets {
		if !slices.ContainsFunc(e.enis, func(i *networkInterface) bool { return i.subnet == n }) {
			e.enis = append(e.enis, q.addInterface(n, "VPC Endpoint Interface "+e.id))
		}
	}
	for _, i := range e.enis {
		i.groups = slices.Clone(e.groups)
	}
}

// unplug ends an endpoint.
func (e *endpoint) unplug(c *Cloud) {
	e.gone = deleted
	for _, i := range e.enis {
		e.region.enis.remove(i.id)
	}
	e.region.endpoints.remove(e.id)
	delete(c.attached[e.service], e.id)
}

// dns lists the regional name first, then one name per zone.
func (e *endpoint) dns() []types.DnsEntry {
	h := fnv.New32a()
	h.Write([]byte(e.id))
	base := fmt.Sprintf("%s-%08x", e.id, h.Sum32())
	domain := e.service[len("com.amazonaws.vpce.")+len(e.region.name)+1:] + "." + e.region.name + ".vpce.amazonaws.com"
	entry := func(name string) types.DnsEntry {
		return types.DnsEntry{DnsName: aws.String(name + "." + domain), HostedZoneId: aws.String("Z7HUB22UULQXV")}
	}
	entries := []types.DnsEntry{entry(base)}
	for _, n := range e.subnets {
		entries = append(entries, entry(base+"-"+n.zone.name))
	}
	return entries
}

func (e *endpoint) describe(q *request) *types.VpcEndpoint {
	d := &types.VpcEndpoint{
		VpcEndpointId: aws.String(e.id), VpcEndpointType: types.VpcEndpointTypeInterface, VpcId: aws.String(e.vpc.id),
		ServiceName: aws.String(e.service), ServiceRegion: aws.String(e.region.name), State: e.state(q), OwnerId: aws.String(e.region.account.id),
		CreationTimestamp: aws.Time(e.born), DnsEntries: e.dns(), IpAddressType: e.addresses, PolicyDocument: aws.String(e.policy),
		DnsOptions:        &types.DnsOptions{DnsRecordIpType: types.DnsRecordIpTypeIpv4},
		PrivateDnsEnabled: aws.Bool(e.privateDNS), RequesterManaged: aws.Bool(false), Tags: tagList(e.tags),
	}
	if e.failure != "" {
		d.FailureReason = aws.String(e.failure)
		d.LastError = &types.LastError{Message: aws.String(e.failure)}
	}
	for _, n := range e.subnets {
		d.SubnetIds = append(d.SubnetIds, n.id)
	}
	for _, g := range e.groups {
		d.Groups = append(d.Groups, types.SecurityGroupIdentifier{GroupId: aws.String(g.id), GroupName: aws.String(g.name)})
	}
	for _, i := range e.enis {
		d.NetworkInterfaceIds = append(d.NetworkInterfaceIds, i.id)
	}
	return d
}
