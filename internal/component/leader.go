package component

import "time"

// How one of several copies of a program is chosen. A copy that ends without a
// word is replaced after LeaseDuration; every RetryPeriod costs a write to the
// hosted etcd.
const (
	LeaseDuration = 30 * time.Second
	RenewDeadline = 20 * time.Second
	RetryPeriod   = 5 * time.Second
)

// LeaderElection are the flags of Kubernetes' programs. One copy leads anyway.
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
