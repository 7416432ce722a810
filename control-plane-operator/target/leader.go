package target

import "time"

// Leader election. A leader that stops without releasing the Lease is replaced after LeaseDuration. Each RetryPeriod costs
// one write to the hosted etcd.
const (
	LeaseDuration = 30 * time.Second
	RenewDeadline = 20 * time.Second
	RetryPeriod   = 5 * time.Second
)

// LeaderElection returns the flags of Kubernetes' programs. A single replica is always the leader.
func LeaderElection(replicas int32) []string {
	if replicas == 1 {
		return []string{"--leader-elect=false"}
	}
	return []string{
		"--leader-elect=true",
		"--leader-elect-lease-duration=" + LeaseDuration.String(),
		"--leader-elect-renew-deadline=" + RenewDeadline.String(),
		"--leader-elect-retry-period=" + RetryPeriod.String(),
	}
}
