package balancer

import "net/netip"

// pool allocates addresses of a network. A released address is reused last, because clients may still have it in a DNS
// cache.
type pool struct {
	network netip.Prefix
	last    netip.Addr
	taken   map[netip.Addr]bool
}

func newPool(network netip.Prefix) *pool {
	return &pool{network: network.Masked(), last: network.Masked().Addr(), taken: map[netip.Addr]bool{}}
}

// take allocates an address, unless all are in use. The first and the last address of a network are reserved.
func (p *pool) take() (netip.Addr, bool) {
	for range 1 << (p.network.Addr().BitLen() - p.network.Bits()) {
		p.last = p.last.Next()
		switch {
		case !p.network.Contains(p.last.Next()):
			p.last = p.network.Addr()
		case !p.taken[p.last]:
			p.taken[p.last] = true
			return p.last, true
		}
	}
	return netip.Addr{}, false
}

func (p *pool) give(address netip.Addr) { delete(p.taken, address) }
