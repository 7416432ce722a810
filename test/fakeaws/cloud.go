package fakeaws

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Cloud is all of AWS: every account, every region, one clock.
type Cloud struct {
	clock clock.PassiveClock

	mu       sync.Mutex // guards everything below, and everything in accounts and regions
	accounts map[string]*Account
	keys     map[string]*identity            // by access key id
	services map[string]*service             // endpoint services of all accounts by name, so that consumers find them
	attached map[string]map[string]*endpoint // endpoints of all accounts by service name and id
	buckets  map[string]*bucket              // names are global
	zones    map[string]*hostedZone          // so are the ids of hosted zones
	changes  map[string]time.Time            // of records, by change id
	leaving  []departure
	delays   Delays
	pageSize int
	latency  time.Duration
	sequence int
	faults   []*armed
	calls    []Call
	expected []string // requests that the service models may refuse, by ExpectRefused
	refused  []string // requests that they have refused
	complain func(format string, args ...any)
	tokens   map[tokenKey]tokens // of requests; nil without a limit
}

// Delays holds the durations of AWS's asynchronous changes.
type Delays struct {
	// These are set when the thing is made, modified or deleted: another delay does not move changes in progress.
	EndpointPending  time.Duration // a new or modified endpoint, until it is available
	EndpointDeleting time.Duration // a deleted endpoint, until it and its network interfaces are gone
	ServicePending   time.Duration // a new endpoint service, until it is Available
	ServiceDeleting  time.Duration // a deleted endpoint service, until it is gone

	// These are evaluated by each call.
	LoadBalancer time.Duration // a new load balancer, until it is active
	Records      time.Duration // a change of records, until it is INSYNC

	// Eventual consistency: how long a new thing is missing from lists, and how
	// long its own id is answered with NotFound.
	Listed, Known time.Duration
}

// UsualDelays are the ones of a calm day in a large region, without eventual consistency.
var UsualDelays = Delays{EndpointPending: time.Minute, EndpointDeleting: time.Minute}

// New returns an empty cloud. Misuse (an operation, filter or field the fake does
// not know) panics until FailOn names a test to fail instead.
func New(clock clock.PassiveClock) *Cloud {
	return &Cloud{
		clock:    clock,
		accounts: map[string]*Account{},
		keys:     map[string]*identity{},
		services: map[string]*service{},
		attached: map[string]map[string]*endpoint{},
		buckets:  map[string]*bucket{},
		zones:    map[string]*hostedZone{},
		changes:  map[string]time.Time{},
		delays:   UsualDelays,
		pageSize: 1000,
		complain: func(format string, args ...any) { panic("fakeaws: " + fmt.Sprintf(format, args...)) },
	}
}

// FailOn reports misuse of the fake to a test.
func (c *Cloud) FailOn(t interface {
	Errorf(format string, args ...any)
}) *Cloud {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complain = func(format string, args ...any) { t.Errorf("fakeaws: "+format, args...) }
	return c
}

// SetDelays replaces all delays.
func (c *Cloud) SetDelays(d Delays) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delays = d
}

// SetPageSize makes every list come in pages of n at most: AWS may return fewer items than requested at any time, so code that reads only
// one page must fail.
func (c *Cloud) SetPageSize(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pageSize = n
}

// SetLatency makes every call take d of real time, for benchmarks.
func (c *Cloud) SetLatency(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latency = d
}

// Account returns the account with this id and opens it on first use.
func (c *Cloud) Account(id string) *Account {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.account(id)
}

func (c *Cloud) account(id string) *Account {
	a := c.accounts[id]
	if a == nil {
		a = &Account{cloud: c, id: id, regions: map[string]*region{}, tokens: map[string]remembered{}, roles: map[string]*Role{}, providers: map[string]*IdentityProvider{}}
		c.accounts[id] = a
	}
	return a
}

// Account is one AWS account. Its methods seed the cloud from outside, as an administrator's console would; their changes are not recorded
// as calls.
type Account struct {
	cloud   *Cloud
	id      string
	regions map[string]*region
	tokens  map[string]remembered
	roles   map[string]*Role // by name, without path

	providers map[string]*IdentityProvider // by issuer
}

// ID returns the twelve digits.
func (a *Account) ID() string { return a.id }

// region holds the resources of one account in one region.
type region struct {
	account   *Account
	name      string
	stores    map[string]taggable // by prefix of the ids
	vpcs      *store[*vpc]
	subnets   *store[*subnet]
	groups    *store[*securityGroup]
	rules     *store[*rule]
	services  *store[*service]
	endpoints *store[*endpoint]
	enis      *store[*networkInterface]
	balancers *balancers
}

func (a *Account) region(name string) *region {
	r := a.regions[name]
	if r == nil {
		r = &region{
			account:   a,
			name:      name,
			stores:    map[string]taggable{},
			balancers: newBalancers(),
		}
		for _, k := range kinds {
			r.stores[k.idPrefix()] = k.open()
		}
		r.vpcs, r.subnets, r.enis = vpcKind.in(r), subnetKind.in(r), interfaceKind.in(r)
		r.groups, r.rules = groupKind.in(r), ruleKind.in(r)
		r.services, r.endpoints = serviceKind.in(r), endpointKind.in(r)
		a.regions[name] = r
	}
	return r
}

// departure is something that ends at a time that was set before.
type departure struct {
	at   time.Time
	gone func()
}

// settle makes the due changes.
func (c *Cloud) settle(now time.Time) {
	if len(c.leaving) == 0 {
		return
	}
	stay := c.leaving[:0]
	for _, d := range c.leaving {
		if now.Before(d.at) {
			stay = append(stay, d)
			continue
		}
		d.gone()
	}
	clear(c.leaving[len(stay):])
	c.leaving = stay
}

func (c *Cloud) leave(after time.Duration, gone func()) {
	if after <= 0 {
		gone()
		return
	}
	c.leaving = append(c.leaving, departure{at: c.clock.Now().Add(after), gone: gone})
}

// id returns an identifier in EC2's long form, e.g. vpce-0c0000000000000001.
func (c *Cloud) id(prefix string) string {
	c.sequence++
	return fmt.Sprintf("%s-0%016x", prefix, 0xc000000000000000+uint64(c.sequence))
}
