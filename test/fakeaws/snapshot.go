package fakeaws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Snapshot is everything there is, one resource a line, sorted, for comparing two
// runs: ids made up on the way are replaced by what they stand for, times are left
// out, and so are long random strings such as keys.
func (c *Cloud) Snapshot() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := &request{cloud: c, now: c.clock.Now()}
	c.settle(q.now)
	p := &picture{q: q, names: map[string]string{}}
	regions := p.regions()
	for _, r := range regions {
		p.name(r)
	}
	for _, r := range regions {
		p.draw(r)
	}
	for _, z := range c.zones {
		p.drawZone(z)
	}
	for name, b := range c.buckets {
		for key, o := range b.objects {
			p.line("%s s3://%s/%s %s %s", b.owner.id, name, key, o.contentType, long.ReplaceAllString(string(o.body), "…"))
		}
	}
	slices.Sort(p.lines)
	return strings.Join(p.lines, "\n")
}

// picture is a snapshot being made.
type picture struct {
	q     *request
	names map[string]string // by id
	lines []string
}

var (
	generated = regexp.MustCompile(`\b(vpce-svc|vpce|vpc|subnet|sgr|sg|eni)-0[0-9a-f]{16}(-[0-9a-f]{8}\b)?`)
	long      = regexp.MustCompile(`[A-Za-z0-9_-]{40,}`)
)

// line writes a line with names in the place of ids.
func (p *picture) line(format string, args ...any) {
	p.lines = append(p.lines, p.readable(fmt.Sprintf(format, args...)))
}

func (p *picture) readable(s string) string {
	return generated.ReplaceAllStringFunc(s, func(id string) string {
		end := strings.IndexByte(id, '-') + 1
		if strings.HasPrefix(id, "vpce-svc-") {
			end = len("vpce-svc-")
		}
		if name, ok := p.names[id[:end+17]]; ok {
			return name
		}
		return id[:end] + "gone"
	})
}

func (p *picture) regions() []*region {
	var out []*region
	for _, id := range keys(p.q.cloud.accounts) {
		a := p.q.cloud.accounts[id]
		for _, name := range keys(a.regions) {
			out = append(out, a.regions[name])
		}
	}
	return out
}

// name gives names to a region's resources, those that others are named after first.
func (p *picture) name(r *region) {
	for _, v := range r.vpcs.order {
		p.names[v.id] = "vpc(" + v.cidr.String() + tagText(v.tags) + ")"
	}
	for _, s := range r.subnets.order {
		p.names[s.id] = "subnet(" + s.cidr.String() + " " + s.zone.id + ")"
	}
	for _, g := range r.groups.order {
		p.names[g.id] = "group(" + g.name + ")"
	}
	for _, s := range r.services.order {
		p.names[s.id] = "service(" + strings.Join(s.balancerNames(), " ") + ")"
	}
	for _, e := range r.endpoints.order {
		p.names[e.id] = "endpoint(" + tagText(e.tags) + ")"
	}
}

func tagText(tags map[string]string) string {
	var b strings.Builder
	for _, k := range keys(tags) {
		fmt.Fprintf(&b, " %s=%s", k, tags[k])
	}
	return b.String()
}

// balancerNames: their ARNs hold made-up ids.
func (s *service) balancerNames() []string {
	var out []string
	for _, arn := range s.balancers {
		part := strings.Split(arn, "/")
		out = append(out, part[len(part)-2])
	}
	slices.Sort(out)
	return out
}

func (p *picture) draw(r *region) {
	where := r.account.id + " " + r.name
	for _, v := range r.vpcs.order {
		p.line("%s %s", where, v.id)
	}
	for _, s := range r.subnets.order {
		p.line("%s %s of %s%s", where, s.id, s.vpc.id, tagText(s.tags))
	}
	for _, lb := range r.balancers.order {
		p.line("%s load balancer %s %s in %v", where, lb.seed.Name, lb.state(p.q), lb.zones)
	}
	for _, g := range r.groups.order {
		p.line("%s %s of %s %q%s", where, g.id, g.vpc, g.description, tagText(g.tags))
	}
	for _, l := range r.rules.order {
		p.line("%s rule of %s egress=%t %s %d-%d %s%s%s %q%s", where, l.parent.id, l.egress, l.protocol, l.from, l.to, l.cidr4, l.cidr6, l.group, l.description, tagText(l.tags))
	}
	for _, s := range r.services.order {
		p.line("%s %s %s acceptance=%t zones=%v principals=%v addresses=%v regions=%v private name=%q%s",
			where, s.id, s.state(p.q), s.acceptance, s.zones, keys(s.principals), s.addresses, s.regions, s.privateName, tagText(s.tags))
	}
	for _, e := range r.endpoints.order {
		p.line("%s %s %s to %s in %s subnets=%v groups=%v addresses=%s private DNS=%t policy=%s",
			where, e.id, e.state(p.q), e.service, e.vpc.id, shown(p, e.subnets), shown(p, e.groups), e.addresses, e.privateDNS, e.policy)
	}
}

// shown lists a set of resources by name, sorted: its order means nothing.
func shown[T resource](p *picture, items []T) []string {
	var out []string
	for _, item := range items {
		out = append(out, p.readable(item.base().id))
	}
	slices.Sort(out)
	return out
}

func (p *picture) drawZone(z *hostedZone) {
	p.line("%s zone %s of %v", z.owner.id, z.name, z.vpcs)
	for _, key := range z.order {
		p.line("%s zone %s of %v %s %s %d %v", z.owner.id, z.name, z.vpcs, key.name, key.kind, aws.ToInt64(z.records[key].TTL), valuesOf(z.records[key]))
	}
}
