package leader

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection"
)

var lease = Lease{Namespace: "hypershift", Name: "operator", Timing: Many}

// lead leads until its container is killed: the Lease stays as it is.
func lead(t *testing.T, cluster *fake.Clientset, pod string) {
	t.Helper()
	id, err := identity(pod)
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(t.Context())
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lease.lock(cluster.CoordinationV1(), id),
		LeaseDuration: lease.Timing.Duration, RenewDeadline: lease.Timing.Deadline, RetryPeriod: lease.Timing.Retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { kill() },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	elector.Run(ctx) // the test ends when it leads, or never
}

func TestARestartedContainerBecomesLeaderAgain(t *testing.T) {
	cluster := fake.NewClientset()
	lead(t, cluster, "operator-abc")
	lead(t, cluster, "operator-abc")
	got, err := cluster.CoordinationV1().Leases("hypershift").Get(t.Context(), "operator", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if holder := *got.Spec.HolderIdentity; holder != "operator-abc" {
		t.Errorf("%s leads", holder)
	}
	if turns := *got.Spec.LeaseTransitions; turns != 0 {
		t.Errorf("the lead has changed %d times", turns)
	}
}

func TestReplicasOutsideOfPodsHaveUniqueNames(t *testing.T) {
	one, err := identity("")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := identity(""); err != nil || other == one {
		t.Errorf("two copies are both %s (%v)", one, err)
	}
}
