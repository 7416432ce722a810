package imageregistry

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// The Lease that is held during a garbage collection.
const (
	leaseName = "image-registry-garbage-collection"
	leases    = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	// leaseLife is how long a Lease counts after its last renewal, and leaseRenewal how often it is renewed.
	leaseLife    = time.Minute
	leaseRenewal = 10 * time.Second
	// leaseInterval is how often gateways read it, and leaseTrust how long they rely on what they have read.
	leaseInterval = 5 * time.Second
	leaseTrust    = 15 * time.Second
	// settling is how long a garbage collection waits until all gateways know, and have answered the writes that they had accepted.
	settling = leaseTrust + 2*leaseInterval
)

// lease is the part of a Lease that matters here.
type lease struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       leaseSpec      `json:"spec"`
}

type leaseSpec struct {
	HolderIdentity       string `json:"holderIdentity"`
	LeaseDurationSeconds int    `json:"leaseDurationSeconds"`
	RenewTime            string `json:"renewTime,omitempty"`
}

// watchedLease is the Lease as a gateway sees it. Clocks of nodes may differ: a Lease counts for some time after it was seen to change.
type watchedLease struct {
	cluster *cluster
	now     func() time.Time

	mu sync.Mutex
	// read is when it was last read, changed when a held Lease was last seen to change.
	read, changed time.Time
	last          leaseSpec
}

func newWatchedLease(c *cluster, now func() time.Time) *watchedLease {
	return &watchedLease{cluster: c, now: now}
}

// watch reads the Lease until ctx ends.
func (l *watchedLease) watch(ctx context.Context) {
	ticks := time.NewTicker(leaseInterval)
	defer ticks.Stop()
	for {
		if err := l.refresh(ctx); err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(err, "The Lease of the garbage collection cannot be read")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

func (l *watchedLease) refresh(ctx context.Context) error {
	began := l.now()
	var found lease
	err := l.cluster.do(ctx, http.MethodGet, leases+"/"+leaseName, nil, &found)
	if err != nil && !isStatus(err, http.StatusNotFound) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = began
	if found.Spec != l.last {
		l.last, l.changed = found.Spec, began
	}
	return nil
}

// held reports whether the registry must not be written to: the Lease is held, or this is not known.
func (l *watchedLease) held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	return now.Sub(l.read) > leaseTrust || l.last.HolderIdentity != "" && now.Sub(l.changed) < leaseLife
}
