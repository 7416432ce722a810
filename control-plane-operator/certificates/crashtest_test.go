package certificates

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

func TestCrashConsistencyAndLeaks(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario { return newTestEnv(t, withOwnName).story() }
	t.Run("crash", func(t *testing.T) { t.Parallel(); crashtest.CrashConsistency(t, begin) })
	t.Run("vanish", func(t *testing.T) { t.Parallel(); crashtest.NoLeaks(t, begin) })
	t.Run("faults", func(t *testing.T) { t.Parallel(); crashtest.APIFaults(t, begin) })
}

// A rotation that is interrupted after any write leads to the same result, and all connections work at each point.
func TestRotationCrashConsistency(t *testing.T) {
	t.Parallel()
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		w := newTestEnv(t)
		w.table, w.facts.RolledOut = ofEtcd, rolledOut
		// The objects before the scenario are not a part of it.
		certs := New(Options{Client: w.Admin(), Reader: w.Admin(), Scheme: scheme, Recorder: w.events, Clock: w.clock})
		certs.table = ofEtcd
		_, _, err := certs.Ensure(t.Context(), w.hcp(t.Context()), w.facts)
		w.must(err)
		w.change(rotate)
		s := w.story()
		s.OtherControllers = func(context.Context) error {
			w.connect()
			return nil
		}
		return s
	})
}

// ofEtcd is the part of the table for etcd.
var ofEtcd = table{
	signers: []signer{{name: names.EtcdSigner}},
	leaves: func(hcp *hyperv1.HostedControlPlane, facts Facts) []leaf {
		return slices.DeleteFunc(leaves(hcp, facts), func(l leaf) bool { return l.signer != names.EtcdSigner })
	},
	kubeconfigs: func(*hyperv1.HostedControlPlane, Facts) []kubeconfig { return nil },
}

// random matches texts that differ between runs: certificates and their hashes.
var random = regexp.MustCompile(`(?s)(applied: [^\n]+|-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----)`)

// mask replaces random parts, and sorts objects that depend on them.
func mask(text string) string {
	objects := strings.Split(random.ReplaceAllString(text, "..."), "---\n")
	slices.Sort(objects)
	return strings.Join(objects, "---\n")
}

// story ends when the requested authorities sign.
func (w *testEnv) story() *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster: w.Cluster,
		Start: func() func(context.Context) error {
			w.restart()
			return func(ctx context.Context) error {
				_, err := w.try(ctx)
				return w.RecordResult(ctrl.Result{RequeueAfter: w.again}, err)
			}
		},
		Mask:    mask,
		Advance: func(time.Duration) { w.clock.Step(DefaultStepDuration) },
		Ready:   w.missing,
		Delete:  func(ctx context.Context) error { return w.Admin().Delete(ctx, controlPlane()) },
	}
}

// missing returns the first missing object, or "" when everything exists and no rotation is in progress.
func (w *testEnv) missing(ctx context.Context) string {
	hcp := w.hcp(ctx)
	if hcp == nil {
		return ""
	}
	facts := w.facts
	for _, l := range w.table.leaves(hcp, facts) {
		if !w.exists(l.secret) {
			return l.secret
		}
	}
	for _, k := range w.table.kubeconfigs(hcp, facts) {
		if k.host != "" && !w.exists(k.secret) {
			return k.secret
		}
	}
	for _, line := range w.table.signers {
		s, err := pki.DecodeSigner(w.secret(line.name).Data)
		w.must(err)
		if s.Asked != hcp.Annotations[hyperv1.RotateCertificatesAnnotation] || s.Rotating() {
			return "the end of the rotation of " + line.name
		}
	}
	return ""
}
