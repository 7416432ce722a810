// Package leader chooses the copy of an operator that works.
//
// A Lease names it. How soon another copy takes over depends on how it ended:
//
//	asked to end              at once: it gives the Lease back
//	its container is killed   when it is started again: the Lease has the name of the pod, which is the same
//	its pod is gone           after Pace.Duration, and then at most Pace.Retry
package leader

import (
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// PodName is the environment variable that tells a program the name of its pod.
const PodName = "POD_NAME"

// A Pace is how often the leader says that it is there, and how long it is
// believed. Each Retry is a write to the management cluster's etcd.
type Pace struct{ Duration, Deadline, Retry time.Duration }

var (
	// One is for an operator that there is once: others stand by for all clusters.
	One = Pace{Duration: 30 * time.Second, Deadline: 20 * time.Second, Retry: 5 * time.Second}
	// Many is for one of which each hosted cluster has its own: a thousand of them
	// would write five hundred times a second at the pace that libraries suggest.
	// Nobody stands by, and a node that is lost keeps its pod for longer than this.
	Many = Pace{Duration: 60 * time.Second, Deadline: 45 * time.Second, Retry: 15 * time.Second}
)

// A Lease is what the copies of an operator compete for.
type Lease struct {
	Namespace, Name string
	Pace            Pace
}

// Require makes a manager work only while it has the Lease.
func (l Lease) Require(opts *ctrl.Options, cfg *rest.Config) error {
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	cfg.Timeout = l.Pace.Deadline / 2 // one request that hangs does not cost the lead
	leases, err := coordinationv1.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connecting for Lease %s: %w", l.Name, err)
	}
	id, err := identity(os.Getenv(PodName))
	if err != nil {
		return err
	}
	opts.LeaderElection, opts.LeaderElectionReleaseOnCancel = true, true
	opts.LeaderElectionResourceLockInterface = l.lock(leases, id)
	opts.LeaseDuration, opts.RenewDeadline, opts.RetryPeriod = &l.Pace.Duration, &l.Pace.Deadline, &l.Pace.Retry
	return nil
}

// lock has nobody to tell of the leader: the Lease names it.
func (l Lease) lock(leases coordinationv1.LeasesGetter, id string) resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: id},
	}
}

// identity is the name of the pod, of which one copy runs at a time. Outside of
// a pod it is one that nobody else has.
func identity(pod string) (string, error) {
	if pod != "" {
		return pod, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("finding a name for this copy: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}
