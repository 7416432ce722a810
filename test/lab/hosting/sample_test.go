package hosting

import (
	"strings"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

func TestSampleGetsTheNamesOfAnotherCluster(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&Hosting{root: root}).Sample("blue", hyperv1.HighlyAvailable)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  name: blue\n", "hostname: api.blue.example.test\n", "controllerAvailabilityPolicy: HighlyAvailable\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if _, err := rename("kind: HostedCluster", "blue", hyperv1.SingleReplica); err == nil {
		t.Error("a text without the expected parts is accepted")
	}
}

func TestSamplePoolBelongsToAnotherCluster(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&Hosting{root: root}).Pool("blue")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(text, "kind: NodePool\n") != 1 || !strings.Contains(text, "  clusterName: blue\n") || strings.Contains(text, "example") {
		t.Errorf("this is not a pool of blue:\n%s", text)
	}
}
