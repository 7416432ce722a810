package imageregistry

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// The Lease that is held during a garbage collection.
const (
	leaseName = "image-registry-garbage-collection"
	leases    = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	// leaseLife is how long a Lease counts after its last renewal, and leaseRenewal how often it is renewed.
	leaseLife    = time.Minute
	leaseRenewal = 10 * time.Second
	// leaseTrust is how long a gateway relies on what it has read.
	leaseTrust = 5 * time.Second
	// settling is how long a garbage collection waits until all gateways refuse writes, and have answered those that they had accepted.
	settling = leaseTrust + 20*time.Second
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

// observedLease is the Lease as a gateway sees it, when a client writes: at rest it is not read. Clocks of nodes may differ: a held Lease counts for some
// time after it was seen to change.
type observedLease struct {
	cluster *cluster
	now     func() time.Time

	mu sync.Mutex
	// read is when it was last read, changed when it was last seen to change.
	read, changed time.Time
	last          leaseSpec
}

// held reports whether the registry must not be written to. An error means that this is not known.
func (l *observedLease) held(ctx context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); l.read.IsZero() || now.Sub(l.read) >= leaseTrust {
		var found lease
		err := l.cluster.do(ctx, http.MethodGet, leases+"/"+leaseName, nil, &found)
		if err != nil && !isStatus(err, http.StatusNotFound) {
			return true, err
		}
		l.read = now
		if found.Spec != l.last {
			l.last, l.changed = found.Spec, now
		}
	}
	return l.last.HolderIdentity != "" && l.now().Sub(l.changed) < leaseLife, nil
}
