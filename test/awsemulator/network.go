package awsemulator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Network holds the resources that carry packets in all accounts, at one moment.
type Network struct {
	VPCs       []VPC              `json:"vpcs"`
	Subnets    []NetworkSubnet    `json:"subnets"`
	Interfaces []NetworkInterface `json:"interfaces"`
	Groups     []SecurityGroup    `json:"groups"`
	Endpoints  []Endpoint         `json:"endpoints"`
	Balancers  []Balancer         `json:"balancers"`
	Zones      []Zone             `json:"zones"`
}

// VPC is a VPC of an account, unless it is the default one.
type VPC struct {
	ID      string         `json:"id"`
	Account string         `json:"account"`
	CIDRs   []netip.Prefix `json:"cidrs"`
	// DNS: the VPC has a resolver. DNSServers and Domain come from its DHCP options; AmazonProvidedDNS is the resolver.
	DNS        bool     `json:"dns"`
	DNSServers []string `json:"dnsServers"`
	Domain     string   `json:"domain"`
}

// Internet is how a subnet reaches the internet.
type Internet string

// The ways to the internet. Through a gateway, only interfaces with a public address reach it.
const (
	NoInternet Internet = ""
	Gateway    Internet = "gateway"
	NAT        Internet = "nat"
)

// NetworkSubnet is a subnet with the consequence of its route table.
type NetworkSubnet struct {
	ID       string       `json:"id"`
	VPC      string       `json:"vpc"`
	CIDR     netip.Prefix `json:"cidr"`
	ZoneID   string       `json:"zoneID"`
	Internet Internet     `json:"internet"`
}

// NetworkInterface is an interface of a running instance, an endpoint, a load balancer or a NAT gateway.
type NetworkInterface struct {
	ID          string     `json:"id"`
	VPC         string     `json:"vpc"`
	Subnet      string     `json:"subnet"`
	Address     netip.Addr `json:"address"`
	Public      bool       `json:"public"` // its address is public
	Groups      []string   `json:"groups"`
	Kind        string     `json:"kind"`
	Instance    string     `json:"instance"` // empty: it is not attached to one
	Description string     `json:"description"`
	// HopLimit, Metadata and TokensRequired are the metadata options of the instance.
	HopLimit       int  `json:"hopLimit"`
	Metadata       bool `json:"metadata"`
	TokensRequired bool `json:"tokensRequired"`
}

// BalancerInterface is the kind of an interface of a network load balancer.
const BalancerInterface = "network_load_balancer"

// Of is true for an interface of a load balancer.
func (i NetworkInterface) Of(b Balancer) bool {
	_, id, _ := strings.Cut(b.ARN, "loadbalancer/")
	return i.Kind == BalancerInterface && i.Description == "ELB "+id
}

// SecurityGroup is a group with its rules.
type SecurityGroup struct {
	ID      string              `json:"id"`
	VPC     string              `json:"vpc"`
	Ingress []SecurityGroupRule `json:"ingress"`
	Egress  []SecurityGroupRule `json:"egress"`
}

// SecurityGroupRule allows packets of a protocol: its name or number, or -1 for all.
type SecurityGroupRule struct {
	Protocol string `json:"protocol"`
	// From and To are ports, or type and code of ICMP; -1 for all.
	From int `json:"from"`
	To   int `json:"to"`
	// CIDR or Group is the other side.
	CIDR  string `json:"cidr"`
	Group string `json:"group"`
}

// Endpoint is an interface endpoint.
type Endpoint struct {
	ID    string `json:"id"`
	VPC   string `json:"vpc"`
	State string `json:"state"`
	// Allowed: a principal of the service is the creator of the endpoint.
	Allowed bool `json:"allowed"`
	// Balancers are the ARNs of the load balancers of the service, ZoneIDs the zones that it serves.
	Balancers  []string `json:"balancers"`
	ZoneIDs    []string `json:"zoneIDs"`
	Interfaces []string `json:"interfaces"`
	Names      []string `json:"names"`
}

// Balancer is a network load balancer.
type Balancer struct {
	ARN       string   `json:"arn"`
	Host      string   `json:"host"`
	VPC       string   `json:"vpc"`
	Active    bool     `json:"active"`
	Internal  bool     `json:"internal"`
	CrossZone bool     `json:"crossZone"`
	ZoneIDs   []string `json:"zoneIDs"`
}

// Zone is a hosted zone. A private one answers in its VPCs only.
type Zone struct {
	Name    string   `json:"name"`
	Private bool     `json:"private"`
	VPCs    []string `json:"vpcs"`
	Records []Record `json:"records"`
}

// Record is a record of a zone: values, or the target of an alias.
type Record struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Values []string `json:"values"`
	Alias  string   `json:"alias"`
}

// Network returns the network of all accounts.
func (e *Emulator) Network(ctx context.Context) (*Network, error) {
	text, err := e.control(ctx, http.MethodGet, "network", nil)
	if err != nil {
		return nil, err
	}
	var n Network
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("reading the network of the AWS emulator: %w", err)
	}
	return &n, nil
}
