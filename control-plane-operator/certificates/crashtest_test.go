package certificates

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

func TestCrashConsistencyAndLeaks(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario { return newCertificateAuthorities(t, withOwnName).story() }
	t.Run("crash", func(t *testing.T) { t.Parallel(); crashtest.CrashConsistency(t, begin) })
	t.Run("vanish", func(t *testing.T) { t.Parallel(); crashtest.NoLeaks(t, begin) })
	t.Run("faults", func(t *testing.T) { t.Parallel(); crashtest.APIFaults(t, begin) })
}

// A rotation that is interrupted after any write leads to the same result, and all connections work at each point.
func TestRotationCrashConsistency(t *testing.T) {
	t.Parallel()
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := newCertificateAuthorities(t)
		e.table, e.facts.RolledOut = ofEtcd, rolledOut
		// The objects before the scenario are not a part of it.
		certs := New(Options{Client: e.Admin(), Reader: e.Admin(), Scheme: scheme, Recorder: e.Events, Clock: e.Clock})
		certs.table = ofEtcd
		_, _, err := certs.Ensure(t.Context(), e.HCP(), e.facts)
		e.Must(err)
		e.ChangeHCP(rotate)
		s := e.story()
		s.OtherControllers = func(context.Context) error {
			e.connect()
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
func (e *certificateAuthorities) story() *crashtest.Scenario {
	s := e.Scenario()
	s.Mask, s.Ready = mask, e.missing
	s.Advance = func(time.Duration) { e.Clock.Step(DefaultStepDuration) }
	return s
}

// missing returns the first missing object, or "" when everything exists and no rotation is in progress.
func (e *certificateAuthorities) missing(context.Context) string {
	hcp, facts := e.HCP(), e.facts
	for _, l := range e.table.leaves(hcp, facts) {
		if !e.exists(l.secret) {
			return l.secret
		}
	}
	for _, k := range e.table.kubeconfigs(hcp, facts) {
		if k.host != "" && !e.exists(k.secret) {
			return k.secret
		}
	}
	for _, line := range e.table.signers {
		s, err := pki.DecodeSigner(e.secret(line.name).Data)
		e.Must(err)
		if s.Asked != hcp.Annotations[hyperv1.RotateCertificatesAnnotation] || s.Rotating() {
			return "the end of the rotation of " + line.name
		}
	}
	return ""
}
