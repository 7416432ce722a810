package fakeaws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Snapshot returns all resources, one a line, sorted, for comparing two runs: generated ids are
// replaced by the names of their resources, times are left out, and so are long random strings such as
// keys.
func (c *Cloud) Snapshot() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := &request{cloud: c, now: c.clock.Now()}
	c.settle(q.now)
	p := &picture{q: q, names: map[string]string{}}
	regions := p.regions()
	for _, r := range regions {
		for _, k := range kinds {
			k.addLabels(p, r)
		}
	}
	for _, r := range regions {
		p.draw(r)
	}
	for _, z := range c.zones {
		p.drawZone(z)
	}
	for name, b := range c.buckets {
		p.drawBucket(name, b)
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

// generated matches the ids of all kinds.
var generated = sync.OnceValue(func() *regexp.Regexp {
	var prefixes []string
	for _, k := range kinds {
		prefixes = append(prefixes, k.idPrefix())
	}
	return regexp.MustCompile(`\b(` + strings.Join(prefixes, "|") + `)-0[0-9a-f]{16}(-[0-9a-f]{8}\b)?`)
})

var long = regexp.MustCompile(`[A-Za-z0-9_-]{40,}`)

// line writes a line with names in the place of ids.
func (p *picture) line(format string, args ...any) {
	p.lines = append(p.lines, p.readable(fmt.Sprintf(format, args...)))
}

func (p *picture) readable(s string) string {
	return generated().ReplaceAllStringFunc(s, func(id string) string {
		end := len(generated().FindStringSubmatch(id)[1]) + 1
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
	for _, k := range kinds {
		k.draw(p, r)
	}
	for _, lb := range r.balancers.order {
		p.line("%s %s load balancer %s %s in %v", r.account.id, r.name, lb.seed.Name, lb.state(p.q), lb.zones)
	}
}

// shown lists a set of resources by name, sorted: its order has no meaning.
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
