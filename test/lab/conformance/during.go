package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/lab/disruption"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// A disturbance disturbs the control plane while specs run: each event in turn, again and again unless once.
type disturbance struct {
	name   string
	events []disruption.Event
	once   bool
	// redundant is true if others have to take over, because a server stops before it is replaced.
	redundant bool
	// abrupt is true if servers die with the requests that they have.
	abrupt bool
	// attempts is how often a spec may run, 0 for once. A watch, or a request that is in flight, ends with its server, and most specs do not
	// repeat it.
	attempts int
}

// disturbances are those that -during names.
var disturbances = []disturbance{
	{name: "upgrade", events: []disruption.Event{disruption.Upgrade}, once: true},
	{name: "rotation", events: []disruption.Event{disruption.CertificateRotation}, redundant: true, attempts: 3},
	{name: "deaths", events: []disruption.Event{disruption.APIServerDeath, disruption.EtcdDeath, disruption.RouterDeath}, redundant: true, abrupt: true, attempts: 3},
	{name: "machines", events: []disruption.Event{disruption.MachineDeath}, redundant: true, abrupt: true, attempts: 3},
}

// crashing are specs that end the process of the suite, and with it the reports of all specs, when a server dies: this one fails outside of a
// spec's goroutine after four creates in a row have failed, at once.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/e2e/apimachinery/chunking.go
const crashing = "Servers with support for API chunking should return chunks of results for list calls"

// without returns the specs that can run during the disturbance.
func (d disturbance) without(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return d.abrupt && strings.Contains(name, crashing) })
}

func disturbanceNames() (all []string) {
	for _, d := range disturbances {
		all = append(all, d.name)
	}
	return all
}

// checkDuring returns a disturbance that fits to the cluster.
func (o options) checkDuring(name string) (disturbance, error) {
	i := slices.IndexFunc(disturbances, func(d disturbance) bool { return d.name == name })
	if i < 0 {
		return disturbance{}, fmt.Errorf("%q is not one of %s", name, strings.Join(disturbanceNames(), ", "))
	}
	d := disturbances[i]
	switch {
	case d.redundant && o.availability != hyperv1.HighlyAvailable:
		return d, fmt.Errorf("%s needs -highly-available: a control plane with one replica is not reachable while it is replaced", name)
	case name == disruption.Upgrade.Name && o.version == images.Versions[0]:
		return d, fmt.Errorf("%s begins with an older version: add -version %s", name, images.Versions[1])
	}
	return d, nil
}

const (
	// eventPause is the time before each event.
	eventPause = 30 * time.Second
	// machineOff is how long a machine stays off.
	machineOff = 2 * time.Minute
	// rereading is how often the kubeconfig of the specs is written again: a rotation changes its certificate.
	rereading = 5 * time.Second
)

// backgroundEvents happen while specs run.
type backgroundEvents struct {
	// first is closed when an event was completed, or none will be.
	first <-chan struct{}
	// stop ends them. It returns the completed events, and an error if an event failed or none was completed.
	stop func() ([]string, error)
}

// noEvents happen if there is no disturbance.
func noEvents() backgroundEvents {
	first := make(chan struct{})
	close(first)
	return backgroundEvents{first: first, stop: func() ([]string, error) { return nil, nil }}
}

// awaited is true while there was no event, and may still be one.
func (e backgroundEvents) awaited() bool {
	select {
	case <-e.first:
		return false
	default:
		return true
	}
}

// disturb makes events happen until they are stopped.
func (r *run) disturb(ctx context.Context, management client.Client) backgroundEvents {
	d := &disruption.Disruptor{
		Management: management, Machines: r.Lab, Release: r.Release, Older: r.version, Newer: images.Versions[0], Off: machineOff,
	}
	ctx, stop := context.WithCancel(ctx)
	var happened []string
	var failure error
	var background sync.WaitGroup
	first := make(chan struct{})
	completed := sync.OnceFunc(func() { close(first) })
	background.Go(func() {
		defer completed()
		happened, failure = r.happen(ctx, d, completed)
	})
	background.Go(func() {
		for pause(ctx, rereading) {
			if _, _, err := r.UserKubeconfig(ctx, key); err != nil && ctx.Err() == nil {
				r.report("writing the kubeconfig again: %v", err)
			}
		}
	})
	return backgroundEvents{first: first, stop: func() ([]string, error) {
		stop()
		background.Wait()
		if failure == nil && len(happened) == 0 {
			failure = fmt.Errorf("no event of %q was completed while specs ran", r.during.name)
		}
		return happened, failure
	}}
}

// happen makes the events until ctx ends, calls completed after each, and describes those that were completed.
func (r *run) happen(ctx context.Context, d *disruption.Disruptor, completed func()) (happened []string, _ error) {
	for {
		for _, event := range r.during.events {
			if !pause(ctx, eventPause) {
				return happened, nil
			}
			r.report("begins: %s", event.Name)
			text, err := event.Happen(d, ctx, key)
			if ctx.Err() != nil {
				return happened, nil // the specs have ended
			}
			if err != nil {
				return happened, fmt.Errorf("%s: %w", event.Name, err)
			}
			happened = append(happened, event.Name+": "+text)
			r.report("ended: %s: %s", event.Name, text)
			completed()
		}
		if r.during.once {
			return happened, nil
		}
	}
}

// pause returns false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
