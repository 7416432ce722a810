package balancer

import "net/netip"

// pool hands out addresses of a network. One that was given back comes again last: whoever still has its name in a cache does not
// meet a stranger there.
type pool struct {
	network netip.Prefix
	last    netip.Addr
	taken   map[netip.Addr]bool
}

func newPool(network netip.Prefix) *pool {
	return &pool{network: network.Masked(), last: network.Masked().Addr(), taken: map[netip.Addr]bool{}}
}

// take gives an address, unless all are taken. The first and the last one of a network are nobody's.
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
