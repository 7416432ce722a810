package cost_test

import (
	"math"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/cli/console/consoletest"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/cost"
)

func TestPrivateClusterWithTwoNodes(t *testing.T) {
	e, err := cost.New()
	if err != nil {
		t.Fatal(err)
	}
	c := consoletest.Private("clusters", "demo", time.Now())
	got := e.Of(c.Objects)
	// A load balancer, 8 GiB of a volume, an endpoint in one zone, a private hosted zone, and two m6i.large.
	want := 24 * (0.0225 + 8*0.08/730 + 0.01 + 0.5/730 + 2*0.096)
	if math.Abs(got.DollarsPerDay-want) > 1e-9 || !got.Complete || len(got.Lines) != 5 {
		t.Errorf("%+v, want %f dollars", got, want)
	}
	c.AWSMachines[0].Spec.InstanceType = "x9.mega"
	if got = e.Of(c.Objects); got.Complete {
		t.Error("an instance type without a price is in a complete estimate")
	}
}
