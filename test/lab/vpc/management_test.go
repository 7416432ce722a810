package vpc

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// The pods of two nodes of the management cluster.
var managementPods = map[string][]netip.Prefix{
	"home-m1": {netip.MustParsePrefix("10.56.1.0/24"), netip.MustParsePrefix("fd00:a38:100::/64")},
	"home-m2": {netip.MustParsePrefix("10.56.2.0/24"), netip.MustParsePrefix("fd00:a38:200::/64")},
}

// managementWorld returns the management VPC with the API server at 10.55.0.2 in the network of this process, with two nodes, each with the
// first address of its pods, and an instance that no group lets in.
func managementWorld(t *testing.T, customers ...string) *world {
	w := newWorld(t, customers...)
	w.spaces["lab"] = w.here()
	everything := []awsemulator.SecurityGroupRule{{Protocol: "-1", From: -1, To: -1, CIDR: "0.0.0.0/0"}}
	w.aws.VPCs = append(w.aws.VPCs, awsemulator.VPC{ID: "home", Account: "management", CIDRs: []netip.Prefix{netip.MustParsePrefix("10.55.0.0/16")}, DNS: true})
	w.aws.Subnets = append(w.aws.Subnets, awsemulator.NetworkSubnet{ID: "home-nat", VPC: "home", CIDR: netip.MustParsePrefix("10.55.16.0/20"), ZoneID: "use1-az1", Internet: awsemulator.NAT})
	w.aws.Groups = append(w.aws.Groups,
		awsemulator.SecurityGroup{ID: "home-nodes", VPC: "home", Egress: everything, Ingress: []awsemulator.SecurityGroupRule{
			{Protocol: "-1", From: -1, To: -1, Group: "home-nodes"}, {Protocol: "tcp", From: 0, To: 65535, CIDR: "10.55.0.2/32"},
		}},
		awsemulator.SecurityGroup{ID: "home-closed", VPC: "home", Egress: everything},
	)
	w.aws.Interfaces = append(w.aws.Interfaces, awsemulator.NetworkInterface{
		ID: "eni-nlb", VPC: "home", Subnet: "home-nat", Address: netip.MustParseAddr("10.55.16.99"), Kind: awsemulator.BalancerInterface, Description: "ELB net/ours/1",
	}, awsemulator.NetworkInterface{
		ID: "eni-another", VPC: "home", Subnet: "home-nat", Address: netip.MustParseAddr("10.55.16.98"), Kind: awsemulator.BalancerInterface, Description: "ELB net/another/1",
	})
	before := len(w.aws.Interfaces)
	w.instance("home", "m1", "nat", "10.55.16.11", "nodes")
	w.instance("home", "m2", "nat", "10.55.16.12", "nodes")
	w.instance("home", "other", "nat", "10.55.16.13", "closed")
	for i := range w.aws.Interfaces[before:] {
		w.aws.Interfaces[before+i].HopLimit = 2
	}
	w.refresh()
	for _, i := range w.aws.Interfaces[before:] {
		w.boot(i)
	}
	for instance, pods := range managementPods {
		h, err := netlink.NewHandleAt(w.spaces[instance], unix.NETLINK_ROUTE)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := h.LinkByName("eth0")
		errs := []error{w.SetPods(t.Context(), instance, pods...)}
		for _, prefix := range pods {
			first := prefix.Addr().Next()
			errs = append(errs, h.AddrAdd(l, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(first, first.BitLen())), Flags: unix.IFA_F_NODAD}))
		}
		errs = append(errs,
			h.AddrAdd(l, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(InstanceLinkLocal, 64)), Flags: unix.IFA_F_NODAD}),
			h.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Dst: ipNet(netip.MustParsePrefix("fd00:ec2::/32")), Gw: RouterLinkLocal.AsSlice()}),
		)
		h.Close()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		w.serve(w.spaces[instance], netip.AddrPortFrom(pods[0].Addr().Next(), 80).String(), func(c net.Conn) {
			_, _ = io.WriteString(c, netip.MustParseAddrPort(c.RemoteAddr().String()).Addr().String())
		})
	}
	return w
}

func TestManagementVPCHasSecurityGroupsAndRoutes(t *testing.T) {
	w := managementWorld(t)
	w.reaches("home-m1", "10.55.16.12:80", "home-m2") // by the group
	w.reaches("home-other", "10.55.16.12:80", "")     // not in the group
	w.reaches("home-m1", "10.55.16.13:80", "")        // no rule
	w.reaches("lab", "10.55.16.11:80", "home-m1")     // by the address of the control plane
	w.reaches("lab", "10.55.16.13:80", "")
	w.reaches("lab", "10.56.2.1:80", "10.55.0.2") // a pod, for webhooks
	if got := w.askFrom("home-m1", "10.56.1.1", "10.56.2.1:80", reachWithin); got != "10.56.1.1" {
		t.Errorf("a pod on another node sees %q", got)
	}
	if got := w.askFrom("home-m1", "10.56.2.9", "10.55.16.12:80", dropAfter); got != "" {
		t.Errorf("%s responds to the address of a pod of another node", got)
	}
	apiServer := w.greet(w.here(), "10.55.0.2:0", "API").String()
	w.reaches("home-m1", apiServer, "API")
	w.reaches("home-m1", w.internet.String(), "internet")
	w.aws.Subnets[0].Internet = awsemulator.NoInternet
	w.refresh()
	w.reaches("home-m1", w.internet.String(), "")
	w.reaches("home-m1", apiServer, "API")
	w.aws.Groups[0].Ingress = w.aws.Groups[0].Ingress[:1] // the rule for the control plane goes
	w.refresh()
	w.reaches("lab", "10.55.16.11:80", "")
	w.reaches("home-m1", "10.55.16.12:80", "home-m2")
}

func TestLoadBalancerReachesTargetsThroughTheirSecurityGroups(t *testing.T) {
	w := managementWorld(t)
	connects := func(balancer string, within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		c, err := w.Dial(ctx, "home", "arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/net/"+balancer+"/1", netip.MustParseAddrPort("10.55.16.11:80"))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	if connects("ours", dropAfter) {
		t.Error("the target has no rule for the load balancer, and is reached")
	}
	w.aws.Groups[0].Ingress = append(w.aws.Groups[0].Ingress, awsemulator.SecurityGroupRule{Protocol: "tcp", From: 80, To: 80, CIDR: "10.55.16.99/32"})
	w.refresh()
	if !connects("ours", reachWithin) {
		t.Error("the target has a rule for the load balancer, and is not reached")
	}
	if connects("another", dropAfter) {
		t.Error("the target has no rule for the other load balancer, and is reached")
	}
}

// An attacker in the VPC of a customer with a way to the internet tries everything that the management side has.
func TestCustomerReachesNothingOfTheManagementVPC(t *testing.T) {
	w := managementWorld(t, "a")
	internal := w.greet(w.here(), "10.55.16.99:0", "internal load balancer")
	w.reaches("a-user", w.internet.String(), "internet")
	for what, address := range map[string]string{
		"a node":                    "10.55.16.11:80",
		"a pod":                     "10.56.2.1:80",
		"the API server":            w.greet(w.here(), "10.55.0.2:0", "API").String(),
		"a server of the lab":       w.forbidden.String(),
		"an internal load balancer": internal.String(),
	} {
		for _, from := range []string{"", "10.55.16.12", "10.55.0.2"} {
			if from != "" {
				w.addAddress("a-user", from)
			}
			if got := w.askFrom("a-user", from, address, dropAfter); got != "" {
				t.Errorf("%s responds from %s to %q: %q", what, address, from, got)
			}
		}
	}
	w.reaches("home-m1", "10.1.0.5:80", "") // nor does the management side reach customers
}

func TestNodeOfTheManagementClusterGetsCredentialsOfItsRole(t *testing.T) {
	w := managementWorld(t)
	pod := w.pod("home-m1", "10.132.1.2")
	if err := w.SetPods(t.Context(), "home-m1", append(managementPods["home-m1"], netip.MustParsePrefix("10.132.1.0/24"))...); err != nil {
		t.Fatal(err)
	}
	_, token := w.get(w.spaces["home-m1"], reachWithin, "PUT", "/latest/api/token", tokenHeader+"-ttl-seconds", "60")
	if _, role := w.get(w.spaces["home-m1"], reachWithin, "GET", "/latest/meta-data/iam/security-credentials/", tokenHeader, token); role != "node" {
		t.Errorf("its role is %q", role)
	}
	if _, text := w.get(w.spaces["home-m1"], reachWithin, "GET", "/latest/meta-data/iam/security-credentials/node", tokenHeader, token); !strings.Contains(text, "AccessKeyId") {
		t.Errorf("its credentials are %q", text)
	}
	if code, body := w.get(pod, reachWithin, "PUT", "/latest/api/token", tokenHeader+"-ttl-seconds", "60"); code != http.StatusOK {
		t.Errorf("a pod gets no token: %d %s", code, body)
	}
	for _, url := range []string{"http://169.254.170.2/v2/credentials/1", "http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]/v1/credentials"} {
		if code, body := w.getURL(w.spaces["home-m1"], reachWithin, "GET", url); code != http.StatusOK || !strings.Contains(body, "AccessKeyId") {
			t.Errorf("%s: %d %s", url, code, body)
		}
	}
	if code, body := w.getURL(w.spaces["home-m2"], reachWithin, "PUT", "http://[fd00:ec2::254]/latest/api/token", tokenHeader+"-ttl-seconds", "60"); code != http.StatusOK {
		t.Errorf("no token by IPv6: %d %s", code, body)
	}
}
