package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	machineos "github.com/hosted-control-planes/hypershift/test/lab/machine"
)

// byUs marks the routes of the lab, so that others are kept.
const byUs netlink.RouteProtocol = 55

// route maintains, while the cluster has machines, routes to the pods of each machine, like the route tables of a VPC. A machine
// in a VPC leaves them to its router. On the switch, they are in the other machines, because clusters may use the same pod
// addresses; for the management cluster the switch has them, too, so that the host and the API server reach its pods.
func (all *machines) route(ctx context.Context, c *joined) {
	factory := informers.NewSharedInformerFactory(c.client, 0)
	nodes := factory.Core().V1().Nodes()
	look := func(any) { c.changed() }
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: look, DeleteFunc: look, UpdateFunc: func(_, now any) { look(now) },
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "watching the nodes of %s: %v\n", c.config.Host, err)
		return
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		// This list comes from memory and does not fail.
		list, _ := nodes.Lister().List(labels.Everything())
		err := all.routeTo(ctx, c, list)
		if err == nil {
			continue
		}
		// The network of a booting machine is not configured yet.
		if !errors.Is(err, unix.ENETUNREACH) {
			fmt.Fprintf(os.Stderr, "routing to the pods of %s: %v\n", c.config.Host, err)
		}
		time.AfterFunc(time.Second, c.changed)
	}
}

// routeTo sets the routes to the pods of these nodes.
func (all *machines) routeTo(ctx context.Context, c *joined, nodes []*corev1.Node) error {
	var mine, onSwitch []*machine
	for _, m := range all.list() {
		if m.cluster != c {
			continue
		}
		mine = append(mine, m)
		if m.instance() == "" {
			onSwitch = append(onSwitch, m)
		}
	}
	errs := []error{all.routeInVPC(ctx, mine, nodes)}
	for _, m := range onSwitch {
		if pid := m.pid1(); pid != 0 {
			errs = append(errs, routesInside(pid, routes(mine, nodes, m.Name)))
		}
	}
	if c.config.Host == all.lab.first.admin.Host {
		here, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err == nil {
			err = setRoutes(here, switchName, routes(onSwitch, nodes, ""))
			here.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// routeInVPC sets the routes to the pods of machines in a VPC.
func (all *machines) routeInVPC(ctx context.Context, mine []*machine, nodes []*corev1.Node) error {
	var errs []error
	for _, m := range mine {
		at := slices.IndexFunc(nodes, func(n *corev1.Node) bool { return n.Name == m.Name })
		if m.instance() == "" || at < 0 || nodes[at].Spec.PodCIDR == "" {
			continue
		}
		first, err := netip.ParsePrefix(nodes[at].Spec.PodCIDR)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pods := []netip.Prefix{first}
		if m.spec.NetworkPolicies {
			text, err := machineos.SecondPodCIDR(nodes[at].Spec.PodCIDR)
			errs = append(errs, err)
			if second, err := netip.ParsePrefix(text); err == nil {
				pods = append(pods, second)
			}
		}
		errs = append(errs, all.lab.cloud.Network().SetPods(ctx, m.InstanceID, pods...))
	}
	return errors.Join(errs...)
}

// routes are the routes to the pods of all nodes but one: range by gateway.
func routes(mine []*machine, nodes []*corev1.Node, but string) map[string]string {
	all := map[string]string{}
	for _, n := range nodes {
		for _, m := range mine {
			if m.Name == n.Name && m.Name != but && n.Spec.PodCIDR != "" {
				all[n.Spec.PodCIDR] = m.address().String()
			}
		}
	}
	return all
}

// routesInside sets the routes of the machine with the given pid 1.
func routesInside(pid int, want map[string]string) error {
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		return nil //nolint:nilerr // it has just ended
	}
	defer func() { _ = ns.Close() }() // no write can be lost
	inside, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("looking into process %d: %w", pid, err)
	}
	defer inside.Close()
	return setRoutes(inside, "eth0", want)
}

// setRoutes adds the desired routes of a link, and removes unwanted routes of the lab.
func setRoutes(h *netlink.Handle, over string, want map[string]string) error {
	link, err := h.LinkByName(over)
	if err != nil {
		return fmt.Errorf("finding link %s: %w", over, err)
	}
	have, err := h.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: byUs}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("reading routes: %w", err)
	}
	var errs []error
	for _, r := range have {
		if want[r.Dst.String()] != r.Gw.String() {
			errs = append(errs, h.RouteDel(&r))
		}
	}
	for pods, gateway := range want {
		_, destination, err := net.ParseCIDR(pods)
		if err == nil {
			// All machines are on one switch, independent of their networks.
			err = h.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: destination, Gw: net.ParseIP(gateway), Protocol: byUs, Flags: int(netlink.FLAG_ONLINK)})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("routing %s through %s: %w", pods, gateway, err))
		}
	}
	return errors.Join(errs...)
}
