package autonode

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestNodesAreExpectedForAWhile(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		claim Claim
		want  bool
	}{
		"a new one":        {Claim{created: metav1.NewTime(now)}, true},
		"it has joined":    {Claim{created: metav1.NewTime(now), node: "node"}, false},
		"it is deleted":    {Claim{created: metav1.NewTime(now), deleted: ptrTime(now)}, false},
		"it never joined":  {Claim{created: metav1.NewTime(now.Add(-nodeExpected))}, false},
		"just before that": {Claim{created: metav1.NewTime(now.Add(time.Second - nodeExpected))}, true},
	} {
		if got := c.claim.isExpected(now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func ptrTime(at time.Time) *metav1.Time { t := metav1.NewTime(at); return &t }

// An administrator of the hosted cluster can write any capacity.
func TestCountsOfNodesOnDemandDoNotOverflow(t *testing.T) {
	for cpu, want := range map[string]int32{"2": 2, "-1": 0, "3G": math.MaxInt32, "9999999999999999999999": math.MaxInt32, "many": 0} {
		obj := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"capacity": map[string]any{"cpu": cpu}}}}
		if got := count(ReadClaim(obj).cpus); got != want {
			t.Errorf("%s are %d, want %d", cpu, got, want)
		}
	}
}
