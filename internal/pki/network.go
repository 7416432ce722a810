package pki

import (
	"fmt"
	"net/netip"
)

// fewestBits is the minimum size of the host part of a network: kube-apiserver does not start with less than eight addresses.
const fewestBits = 3

// FirstAddress returns the first address of a service network, which is the address of the API server's Service.
func FirstAddress(cidr string) (netip.Addr, error) {
	network, err := netip.ParsePrefix(cidr)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is not an address range: write it like 172.31.0.0/16", cidr)
	}
	if free := network.Addr().BitLen() - network.Bits(); free < fewestBits {
		return netip.Addr{}, fmt.Errorf("%s has %d addresses, and the API server does not start with less than %d: choose a larger range", cidr, 1<<free, 1<<fewestBits)
	}
	return network.Masked().Addr().Next(), nil
}
