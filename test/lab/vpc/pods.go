package vpc

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/vishvananda/netns"

	"github.com/hosted-control-planes/hypershift/test/lab/nftables"
)

// Masquerade makes the pods of the machine that runs as the process use its address for everything but the pods of peers,
// whose ranges are given: a VPC does not route addresses of pods, but the machines of one cluster do.
func Masquerade(ctx context.Context, pid int, pods netip.Prefix, peers []string) error {
	machine, err := netns.GetFromPid(pid)
	if err != nil {
		return nil //nolint:nilerr // it has just ended
	}
	defer func() { _ = machine.Close() }() // nothing was written
	err = inside(machine, func() error {
		table, err := nftables.NewWriter("pods", "what leaves the network of pods")
		if err != nil {
			return err
		}
		return table.Write(ctx, masquerade(pods, peers))
	})
	if err != nil {
		return fmt.Errorf("masquerading pods %s: %w", pods, err)
	}
	return nil
}

func masquerade(pods netip.Prefix, peers []string) nftables.Table {
	t := nftables.NewTable()
	t.Chains["postrouting"] = nftables.Chain{Type: "nat", Hook: "postrouting", Priority: "srcnat", Rules: []string{
		fmt.Sprintf(`oifname "eth0" ip saddr %s ip daddr != { %s } masquerade`, pods, strings.Join(peers, ", ")),
	}}
	return t
}
