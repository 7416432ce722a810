package cel

import (
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// warnings collects the warnings of the API server.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

// A controller acts on each kind: none has a warning.
func TestKindsHaveNoWarning(t *testing.T) {
	t.Parallel()
	cfg := fixture.StartAPIServer(t, crdDirectory)
	for _, base := range []string{
		"hcpetcdbackup",
		"etcdbackupschedule",
		"etcdrestore",
		"certificatesigningrequestapproval",
		"certificaterevocationrequest",
		"breakglassapproval",
		"hostedcluster",
		"nodepool",
		"awsendpointservice",
	} {
		got := &warnings{}
		with := *cfg
		with.WarningHandler = got
		c, err := client.New(&with, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		obj := loadBase(t, base)
		obj.SetName("example")
		if err := c.Create(t.Context(), obj, client.DryRunAll); err != nil {
			t.Errorf("%s is not accepted: %v", base, err)
		}
		if len(got.text) > 0 {
			t.Errorf("%s has the warnings %q", base, got.text)
		}
	}
}
