package cel

import (
	"strings"
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

// Kinds on which no controller acts are accepted with a warning, and no other kind has one.
func TestKindsWithoutAControllerAreAcceptedWithAWarning(t *testing.T) {
	t.Parallel()
	cfg := fixture.StartAPIServer(t, crdDirectory)
	for base, want := range map[string]string{
		"hcpetcdbackup":                     "",
		"etcdbackupschedule":                "",
		"certificatesigningrequestapproval": "CertificateSigningRequestApproval has no effect",
		"certificaterevocationrequest":      "CertificateRevocationRequest has no effect",
		"hostedcluster":                     "",
		"nodepool":                          "",
		"awsendpointservice":                "",
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
		if all := strings.Join(got.text, "; "); (all == "") != (want == "") || !strings.Contains(all, want) {
			t.Errorf("%s has the warning %q, want %q", base, all, want)
		}
	}
}
