// Package leader configures leader election of an operator.
//
// The leader holds a Lease. How soon another replica takes over depends on how the leader stopped:
//
//	regular termination       at once: it releases the Lease
//	container is killed       when the container is restarted: the Lease names the pod, which is the same
//	pod is lost               after Timing.Duration, and then at most Timing.Retry
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

// PodName is the environment variable with the name of the pod.
const PodName = "POD_NAME"

// Timing holds the durations of leader election. Each Retry is a write to the etcd of the management cluster.
type Timing struct{ Duration, Deadline, Retry time.Duration }

var (
	// One is for an operator that runs once in a management cluster, with replicas on standby for all hosted clusters.
	One = Timing{Duration: 30 * time.Second, Deadline: 20 * time.Second, Retry: 5 * time.Second}
	// Many is for an operator of which each hosted cluster has its own. With the defaults of client-go, a thousand of them
	// would write five hundred times a second. There is no standby, and the pods of a lost node are replaced later than this.
	Many = Timing{Duration: 60 * time.Second, Deadline: 45 * time.Second, Retry: 15 * time.Second}
)

// A Lease identifies the Lease of an operator.
type Lease struct {
	Namespace, Name string
	Timing          Timing
}

// Require configures a manager to run only while it holds the Lease.
func (l Lease) Require(opts *ctrl.Options, cfg *rest.Config) error {
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	cfg.Timeout = l.Timing.Deadline / 2 // one request that times out does not lose the lease
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
	opts.LeaseDuration, opts.RenewDeadline, opts.RetryPeriod = &l.Timing.Duration, &l.Timing.Deadline, &l.Timing.Retry
	return nil
}

// lock records no events: the Lease names the leader.
func (l Lease) lock(leases coordinationv1.LeasesGetter, id string) resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: id},
	}
}

// identity returns the name of the pod, which runs once at a time. Outside of a pod it returns a unique name.
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
