package pki

import (
	"fmt"
	"net/netip"
)

// fewest is how many addresses a network of services must have:
// kube-apiserver does not start with less.
const fewest = 8

// FirstAddress is the first address of a network of services, under which the
// API server is found in it.
func FirstAddress(cidr string) (netip.Addr, error) {
	network, err := netip.ParsePrefix(cidr)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is not an address range: write it like 172.31.0.0/16", cidr)
	}
	if free := network.Addr().BitLen() - network.Bits(); free < 3 {
		return netip.Addr{}, fmt.Errorf("%s has %d addresses, and the API server does not start with less than %d: choose a larger range, such as 172.31.0.0/16", cidr, 1<<free, fewest)
	}
	return network.Masked().Addr().Next(), nil
}
