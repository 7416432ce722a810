package describe_test

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterconditions"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
)

// TestNormalStatusesAreThoseOfTheMetrics fails if an alert and the tree disagree about a condition.
func TestNormalStatusesAreThoseOfTheMetrics(t *testing.T) {
	for condition, want := range clusterconditions.Healthy() {
		if got := clustertree.NormalStatus("HostedCluster", condition); got != want {
			t.Errorf("%s is normal if it is %s, and for the metrics if it is %s", condition, got, want)
		}
	}
}
